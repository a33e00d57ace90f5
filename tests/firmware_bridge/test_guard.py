"""The guard: its modes, the person who is asked, and the envelope that holds in all of them."""

from __future__ import annotations

import io
import os
import pty
from collections.abc import Mapping
from queue import SimpleQueue
from typing import Any

import pytest

from core_eval.path.calls import Call, StepVerdict
from devices.outcome import Outcome, Refusal
from devices.sensors import Sample
from firmware_bridge.approval import Answer, Approver, Question, Reply, TerminalApprover
from firmware_bridge.guard import Breach, Envelope, Guard, GuardDecision, GuardMode, RuleAction

pytestmark = pytest.mark.serial

HARMFUL = StepVerdict(kind="harmful", symbol=None, state_before="q1", state_after="q1", class_="off_path")
FINE = StepVerdict(kind="progress", symbol="a", state_before="q1", state_after="q2", class_="progress")
CALL = Call("water_plant", {"plant_id": "plant_A", "liters": 4.0})
LIMITS: Mapping[str, Mapping[str, Any]] = {
    "water_plant": {"liters": {"max": 5}, "plant_id": {"in": ["plant_A", "plant_B"]}},
    "move_to": {"x": {"min": 0, "max": 20}, "yaw": 0},
}


class Person(Approver):
    def __init__(self, answer: Answer) -> None:
        self.answer, self.asked = answer, list[Question]()

    def ask(self, question: Question) -> Reply:
        self.asked.append(question)
        return Reply(self.answer, "a test")


@pytest.mark.parametrize(("mode", "action"), [("observe", "allow"), ("block", "block"), ("estop", "estop")])
def test_only_harmful_calls_are_held_back(mode: str, action: str) -> None:
    guard = Guard(mode)
    assert guard.decide(FINE, CALL).action == "allow"
    decision = guard.decide(HARMFUL, CALL)
    assert decision.action == action and "q1" in decision.reason


def test_the_reason_names_the_symbol_that_is_not_allowed_there() -> None:
    verdict = StepVerdict(
        kind="harmful", symbol="water", state_before="q3", state_after="q3", class_="off_path"
    )
    assert "water" in Guard(GuardMode.BLOCK).decide(verdict, CALL).reason


LOCK, HOME = Call("lock", {}), Call("go_home", {})


@pytest.mark.parametrize("mode", GuardMode)
def test_a_safe_call_is_sent_whatever_speaks_against_it(mode: GuardMode) -> None:
    person = Person("stop")
    locked_away = Envelope({"lock": {"depth": {"max": 1}}})
    guard = Guard(mode, locked_away, person, Knows(TOO_FAR, "too much"), safe={"lock"})
    decision = guard.decide(HARMFUL, LOCK)
    assert decision == GuardDecision("allow", f"a safe call; {OFF_PATH}")
    assert not person.asked


@pytest.mark.parametrize(
    ("mode", "action"), [("observe", "allow"), ("block", "allow"), ("estop", "estop"), ("confirm", "block")]
)
def test_a_retreat_off_the_path_is_let_through_in_mode_block(mode: str, action: str) -> None:
    person = Person("refuse")
    assert Guard(mode, approver=person, retreats={"go_home"}).decide(HARMFUL, HOME).action == action
    assert len(person.asked) == (mode == "confirm")


@pytest.mark.parametrize(
    ("guard", "code"),
    [
        ({"known": "interlock"}, "too_far"),
        ({"known": "limit"}, "limit"),
        ({"envelope": Envelope({"go_home": {"x": {"max": 1}}})}, "guard"),
    ],
)
def test_a_retreat_goes_no_further_than_envelope_interlocks_and_limits(
    guard: dict[str, Any], code: str
) -> None:
    if "known" in guard:
        guard["known"] = Knows(TOO_FAR) if guard["known"] == "interlock" else Knows(beyond="too much")
    decision = Guard("block", retreats={"go_home"}, **guard).decide(HARMFUL, HOME)
    assert (decision.action, decision.code) == ("block", code)


def test_an_unknown_mode_is_an_error() -> None:
    with pytest.raises(ValueError):
        Guard("ask")


@pytest.mark.parametrize(
    ("answer", "action", "word"),
    [("approve", "allow", "approved"), ("refuse", "block", "not approved"), ("stop", "estop", "stopped")],
)
def test_a_person_decides_about_harmful_calls_alone(answer: Answer, action: str, word: str) -> None:
    person = Person(answer)
    guard = Guard("confirm", approver=person)
    assert guard.decide(FINE, CALL).action == "allow" and not person.asked
    decision = guard.decide(HARMFUL, CALL)
    assert decision.action == action and word in decision.reason
    assert decision.by_person is (answer == "stop")
    assert person.asked == [
        Question(
            "water_plant",
            CALL.arguments,
            "harmful in state q1: no symbol of the task matches this call",
        )
    ]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (Call("water_plant", {"plant_id": "plant_A", "liters": 5.5}), "liters=5.5"),
        (Call("water_plant", {"plant_id": "plant_C", "liters": 1}), "plant_id='plant_C'"),
        (Call("water_plant", {"plant_id": "plant_A"}), "liters.* missing"),
        (Call("water_plant", {"plant_id": "plant_A", "liters": True}), "liters=True"),
        (Call("move_to", {"x": -0.1, "yaw": 0.0}), "x=-0.1"),
        (Call("move_to", {"x": 20, "yaw": 1.0}), "yaw=1.0"),
    ],
)
def test_what_leaves_the_envelope_is_refused_in_every_mode_and_nobody_is_asked(call: Call, says: str) -> None:
    for mode in GuardMode:
        person = Person("approve")
        decision = Guard(mode, Envelope(LIMITS), person).decide(FINE, call)
        assert decision.action == ("estop" if mode == "estop" else "block")
        assert not person.asked
        with pytest.raises(AssertionError, match=says):
            raise AssertionError(decision.reason)


def test_what_stays_inside_goes_and_tools_without_limits_too() -> None:
    guard = Guard("block", Envelope(LIMITS))
    for call in (
        CALL,
        Call("move_to", {"x": 20, "y": 900, "yaw": 0}),
        Call("spray_pesticide", {"ml": 1000}),
    ):
        assert guard.decide(FINE, call).action == "allow"


def test_an_envelope_that_is_none_names_tool_and_argument() -> None:
    with pytest.raises(ValueError, match=r"move_to\.x: .*min"):
        Envelope({"move_to": {"x": {"min": 9, "max": 1}}})


def test_without_a_terminal_the_answer_is_to_refuse() -> None:
    assert TerminalApprover(io.StringIO("approve\n")).ask(Question("t", {}, "why")).answer == "refuse"


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (b"a\n", "approve"),
        (b"what?\nApprove\n", "approve"),
        (b"r\n", "refuse"),
        (b"\n\nstop\n", "stop"),
        (b"\x04", "refuse"),
    ],
)
def test_a_person_answers_on_a_terminal(typed: bytes, answer: Answer) -> None:
    master, slave = pty.openpty()
    shown = io.StringIO()
    os.write(master, typed)
    with os.fdopen(slave, "r") as source:
        question = Question("move_to", {"x": 1, "name": "\x1b[2Jü"}, "harmful in state q1")
        assert TerminalApprover(source, shown).ask(question) == Reply(answer, "the terminal")
    os.close(master)
    assert "move_to" in shown.getvalue() and "harmful in state q1" in shown.getvalue()
    assert "\x1b" not in shown.getvalue()


class Knows:
    """Knows of one refusal and one limit, and takes what it is told."""

    def __init__(self, refusal: Refusal | None = None, beyond: str | None = None) -> None:
        self._refusal, self._beyond = refusal, beyond
        self.told: list[object] = []
        self.asked: list[object] = []

    def refusal(self, tool: str, arguments: Mapping[str, Any]) -> Refusal | None:
        self.asked.append((tool, arguments))
        return self._refusal

    def limit_violation(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        self.asked.append((tool, arguments))
        return self._beyond

    def on_outcome(self, tool: str, arguments: Mapping[str, Any], outcome: Outcome) -> None:
        self.told.append((tool, arguments, outcome))

    def on_sample(self, sample: Sample) -> None:
        self.told.append(sample)


TOO_FAR = Refusal("too_far", "Drive there first.")


@pytest.mark.parametrize(
    ("mode", "verdict", "action"),
    [
        ("observe", HARMFUL, "allow"),
        ("block", FINE, "block"),
        ("block", HARMFUL, "block"),
        ("confirm", FINE, "block"),
        ("confirm", HARMFUL, "block"),
        ("estop", FINE, "block"),
        ("estop", HARMFUL, "estop"),
    ],
)
def test_an_interlock_refuses_in_the_devices_words_and_nobody_is_asked(
    mode: str, verdict: StepVerdict, action: str
) -> None:
    person = Person("approve")
    decision = Guard(mode, approver=person, known=Knows(TOO_FAR)).decide(verdict, CALL)
    assert decision.action == action and not person.asked
    assert "interlock too_far: Drive there first." in decision.reason
    if action != "allow":
        assert (decision.code, decision.message) == ("too_far", "Drive there first.")


@pytest.mark.parametrize(
    ("mode", "action"), [("observe", "allow"), ("block", "block"), ("confirm", "block"), ("estop", "estop")]
)
def test_what_would_be_done_beyond_a_limit_stops_the_rig_in_estop(mode: str, action: str) -> None:
    decision = Guard(mode, known=Knows(beyond="too much")).decide(FINE, CALL)
    assert decision.action == action and "too much" in decision.reason


OFF_PATH = "harmful in state q1: no symbol of the task matches this call"
WATER_THERE = "harmful in state q3: water is not allowed there"
NOT_THERE = StepVerdict(
    kind="harmful", symbol="water", state_before="q3", state_after="q3", class_="off_path"
)
LOW = Call("water_plant", {"plant_id": "plant_A", "liters": 5.5})
OUTSIDE = "outside the rig's envelope: water_plant has liters=5.5, and the rig allows liters=..5"


@pytest.mark.parametrize(
    ("guard", "verdict", "call", "decision"),
    [
        (Guard("block"), FINE, CALL, GuardDecision("allow", "progress in state q1")),
        (Guard("observe"), HARMFUL, CALL, GuardDecision("allow", OFF_PATH)),
        (Guard("block"), HARMFUL, CALL, GuardDecision("block", OFF_PATH, "guard", OFF_PATH)),
        (Guard("estop"), HARMFUL, CALL, GuardDecision("estop", OFF_PATH, "guard", OFF_PATH)),
        (
            Guard("block"), NOT_THERE, CALL,
            GuardDecision("block", WATER_THERE, message=WATER_THERE),
        ),
        (
            Guard("observe", known=Knows(TOO_FAR)), FINE, CALL,
            GuardDecision("allow", "progress in state q1; interlock too_far: Drive there first."),
        ),
        (
            Guard("estop", known=Knows(TOO_FAR)), FINE, CALL,
            GuardDecision("block", "interlock too_far: Drive there first.", "too_far", "Drive there first."),
        ),
        (
            Guard("block", known=Knows(beyond="12 l is too much")), FINE, CALL,
            GuardDecision(
                "block", "beyond a limit of the site: 12 l is too much", "limit", "12 l is too much"
            ),
        ),
        (Guard("observe", Envelope(LIMITS)), FINE, LOW, GuardDecision("block", OUTSIDE, "guard", OUTSIDE)),
        (
            Guard("confirm", approver=Person("approve")), HARMFUL, CALL,
            GuardDecision("allow", f"approved by a person; {OFF_PATH}"),
        ),
        (
            Guard("confirm", approver=Person("refuse")), HARMFUL, CALL,
            GuardDecision("block", f"not approved; {OFF_PATH}", message=f"not approved; {OFF_PATH}"),
        ),
        (
            Guard("confirm", approver=Person("stop")), HARMFUL, CALL,
            GuardDecision(
                "estop",
                f"stopped by a person; {OFF_PATH}",
                message=f"stopped by a person; {OFF_PATH}",
                by_person=True,
            ),
        ),
    ],
)  # fmt: skip
def test_the_log_and_the_agent_are_told_why(
    guard: Guard, verdict: StepVerdict, call: Call, decision: GuardDecision
) -> None:
    assert guard.decide(verdict, call) == decision


def test_the_envelope_goes_before_what_is_known() -> None:
    outside = Call("water_plant", {"plant_id": "plant_A", "liters": 5.5})
    decision = Guard("observe", Envelope(LIMITS), known=Knows(TOO_FAR)).decide(FINE, outside)
    assert decision.action == "block" and "envelope" in decision.reason


def test_samples_reach_what_is_known() -> None:
    knows = Knows()
    samples: SimpleQueue[Sample] = SimpleQueue()
    guard = Guard("block", known=knows, samples=samples)
    samples.put(Sample("water_tank_low", True, 1.0))
    # What was read meanwhile counts from the next decision on.
    assert guard.decide(FINE, CALL).action == "allow"
    assert knows.told == [Sample("water_tank_low", True, 1.0)]
    assert knows.asked == [("water_plant", CALL.arguments)] * 2, "of its refusals, and of its limits"


def breach(action: str | None) -> Breach:
    return Breach("r", "Do not.", None if action is None else RuleAction(action))


@pytest.mark.parametrize(
    ("mode", "action", "decided"),
    [
        *((mode, "block", "block") for mode in ("observe", "block", "confirm")),
        *((mode, "alert", "allow") for mode in GuardMode),
        *((mode, "observe", "allow") for mode in GuardMode),
        *((mode, None, of_mode) for mode, of_mode in (("observe", "allow"), ("block", "block"))),
        *(("estop", action, "estop") for action in ("block", None)),
    ],
)
def test_a_rule_is_treated_by_its_action_or_else_by_the_mode(
    mode: str, action: str | None, decided: str
) -> None:
    decision = Guard(mode).decide(FINE, CALL, [breach(action)])
    assert decision.action == decided and "rule r: Do not." in decision.reason
    if decided == "block":
        assert (decision.code, decision.message) == ("rule", "rule r: Do not.")


@pytest.mark.parametrize(
    ("answer", "decided"), [("approve", "allow"), ("refuse", "block"), ("stop", "estop")]
)
@pytest.mark.parametrize(("mode", "action"), [("observe", "confirm"), ("confirm", None)])
def test_a_rule_that_confirms_asks_a_person_once(
    mode: str, action: str | None, answer: Answer, decided: str
) -> None:
    person = Person(answer)
    decision = Guard(mode, approver=person).decide(HARMFUL, CALL, [breach(action), breach(action)])
    assert decision.action == decided and len(person.asked) == 1
    assert "rule r: Do not." in person.asked[0].reason


def test_a_rule_that_blocks_leaves_the_way_to_safety_open() -> None:
    person = Person("refuse")
    for mode in ("observe", "block", "confirm"):
        guard = Guard(mode, approver=person, safe={"lock"}, retreats={"go_home"})
        for call in (LOCK, HOME):
            assert guard.decide(FINE, call, [breach("block")]).action == "allow"
    assert not person.asked


def test_the_strictest_of_several_rules_decides() -> None:
    person = Person("approve")
    guard = Guard("observe", approver=person)
    assert guard.decide(FINE, CALL, [breach("confirm"), breach("block")]).action == "block"
    assert not person.asked
