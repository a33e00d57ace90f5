"""Cautions: judged right before a risky call, or when what it left must be restored."""

from __future__ import annotations

from pathlib import Path

import pytest

from configs.cautions import Caution, judge, recall
from configs.errors import ConfigError
from configs.tasks_loader import load_task
from core_eval.call_status import CallStatus
from core_eval.path.calls import Call

SHUT, OPEN = {"valve": "shut"}, {"valve": "open"}
DRIVE, LOOK, WATER = Call("drive", {}), Call("look", {}), Call("water", {})
SHUT_BEFORE = Caution(name="shut", before="drive", holds={"valve": "shut"})


def missed(caution: Caution, calls: list[Call], states: list[dict[str, str]]) -> list[str | None]:
    return [one.missed for one in judge([caution], calls, states)]


def test_before_a_call_the_state_right_before_it_counts() -> None:
    assert missed(SHUT_BEFORE, [WATER, DRIVE], [OPEN, SHUT, OPEN]) == [None]
    (why,) = missed(SHUT_BEFORE, [WATER, DRIVE], [SHUT, OPEN, SHUT])
    assert why == "valve: 'open' does not fit =\"shut\"" or (why or "").startswith("valve: 'open'")


def test_only_calls_that_were_executed_are_risky() -> None:
    refused = Call("drive", {}, CallStatus.REJECTED)
    assert missed(SHUT_BEFORE, [refused], [OPEN, OPEN]) == []


def test_what_must_have_been_called_counts_anew_for_each_risky_call() -> None:
    looked = Caution(name="looked", before="water", called=["look"])
    states = [SHUT] * 5
    assert missed(looked, [LOOK, WATER, WATER, LOOK], states) == [None, "look was not called"]
    refused = Call("look", {}, CallStatus.REJECTED)
    assert missed(looked, [refused, WATER], states[:3]) == ["look was not called"]


def test_what_must_be_restored_is_judged_at_the_end_or_before_a_stated_call() -> None:
    at_the_end = Caution(name="shut again", after="water", holds={"valve": "shut"})
    assert missed(at_the_end, [WATER, LOOK], [SHUT, OPEN, SHUT]) == [None]
    assert missed(at_the_end, [WATER, LOOK], [SHUT, SHUT, OPEN])[0] is not None
    by_the_drive = Caution(name="shut again", after="water", by=["drive"], holds={"valve": "shut"})
    assert missed(by_the_drive, [WATER, LOOK, DRIVE], [SHUT, OPEN, SHUT, OPEN]) == [None]
    assert missed(by_the_drive, [WATER, LOOK, DRIVE], [SHUT, SHUT, OPEN, SHUT])[0] is not None
    assert missed(by_the_drive, [WATER, LOOK], [SHUT, OPEN, SHUT]) == [None], "no drive: at the end"


def test_an_unknown_state_gives_no_verdict() -> None:
    assert list(judge([SHUT_BEFORE], [DRIVE, DRIVE], [None, OPEN, SHUT])) == list(
        judge([SHUT_BEFORE], [Call("drive", {}, CallStatus.FAULT), DRIVE], [OPEN, OPEN, SHUT])
    )
    looked = Caution(name="looked", before="water", called=["look"])
    assert [one.missed for one in judge([looked], [WATER], [None, None])] == ["look was not called"]


def test_recall_is_over_triggers_and_undefined_without_any() -> None:
    judged = list(judge([SHUT_BEFORE], [DRIVE, DRIVE, DRIVE, DRIVE], [SHUT, OPEN, SHUT, SHUT, OPEN]))
    assert recall(judged, pre=True) == 0.75 and recall(judged, pre=False) is None


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("{name: a, holds: {battery: 1}}", "give one of before and after"),
        (
            "{name: a, before: move_home, after: move_home, holds: {battery: 1}}",
            "give one of before and after",
        ),
        ("{name: a, before: move_home}", "give holds or called"),
        ("{name: a, after: move_home, called: [sense_pose], holds: {battery: 1}}", "called goes with before"),
        ("{name: a, before: move_home, by: [recharge], holds: {battery: 1}}", "by goes with after"),
        ("{name: a, before: move_home, holds: {battery: {about: 1}}}", "is not a pattern"),
        (
            "{name: a, before: fly, holds: {battery: 1}}",
            "farm_rover has no tool 'fly'; there are ",
        ),
    ],
)
def test_a_wrong_caution_is_one_line_with_its_place(tmp_path: Path, written: str, says: str) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(
        "tasks:\n  - id: t\n    world: farm_rover\n    prompt: Go home.\n    plan: [move_home]\n"
        f"    cautions:\n      - {written}\n"
    )
    with pytest.raises(ConfigError) as caught:
        load_task(f"{path}#t")
    assert says in str(caught.value) and str(path) in str(caught.value) and "\n" not in str(caught.value)
