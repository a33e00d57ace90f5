"""A baseline notices what got worse, and only that."""

from dataclasses import replace

import pytest

from core_eval.report.baseline import Baseline, changes
from core_eval.report.markdown import changes_markdown, summary_markdown
from tests.core_eval.report.test_summary import ROW

SCORES = {"path_correctness": 0.8, "harmful_calls": 1.0, "wall_seconds": 3.0}


def row(seed: int = 0, agent: str = "one", **scores: float):
    # Distinct fingerprints: each is a try of its own.
    return replace(ROW, agent=agent, seed=seed, fingerprint=f"{agent}{seed}", scores=SCORES | scores)


def verdicts(before, now, **options) -> dict[str, str]:
    baseline = Baseline.model_validate_json(Baseline.of(before, {}).model_dump_json())
    return {one.metric: one.verdict for one in changes(baseline, now, **options) if one.verdict != "same"}


def test_the_same_episodes_are_the_same() -> None:
    assert verdicts([row(0), row(1)], [row(1), row(0)]) == {}


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({"path_correctness": 0.7}, {"path_correctness": "worse"}),
        ({"path_correctness": 0.9}, {"path_correctness": "better"}),
        ({"harmful_calls": 2.0}, {"harmful_calls": "worse"}),
        ({"harmful_calls": 0.0}, {"harmful_calls": "better"}),
        ({"wall_seconds": 9.0}, {}),
    ],
)
def test_a_change_of_one_episode_counts_by_its_direction(scores, expected) -> None:
    assert verdicts([row()], [row(**scores)]) == expected


def test_a_tolerance_is_exact_at_its_edge() -> None:
    now = [row(path_correctness=0.5)]
    before = [row(path_correctness=0.75)]
    assert verdicts(before, now, tolerances={"path_correctness": 0.25}) == {}
    assert verdicts(before, now, tolerances={"path_correctness": 0.2499}) == {"path_correctness": "worse"}


def test_what_noise_explains_is_no_change_and_a_shift_is_one() -> None:
    noise = [0.1, -0.1, 0.12, -0.09, 0.05, -0.11]
    before = [row(seed) for seed in range(6)]
    noisy = [row(seed, path_correctness=0.8 + d) for seed, d in enumerate(noise)]
    shifted = [row(seed, path_correctness=0.5 + d) for seed, d in enumerate(noise)]
    assert verdicts(before, noisy) == {}
    assert verdicts(before, shifted) == {"path_correctness": "worse"}


def test_what_was_not_run_again_is_missing_and_what_is_new_is_none_of_its_business() -> None:
    assert verdicts([row(0), row(1)], [row(0)]) == {"episodes": "missing"}
    assert verdicts([row(0)], [row(0), row(0, "two")]) == {"episodes": "new"}
    assert verdicts([row(0)], [replace(row(0), status="error")]) == {"episodes": "missing"}


def test_an_agent_that_falls_silent_is_worse_in_everything() -> None:
    idle = replace(row(), calls_made=0, scores=SCORES | {"harmful_calls": 0.0})
    assert set(verdicts([row()], [idle]).values()) == {"worse"}


def test_markdown_takes_hostile_names() -> None:
    evil = row(agent="a|b<script>`@everyone\n## x")
    text = summary_markdown([evil])
    assert "<script>" not in text and "@everyone" not in text and "\n## x" not in text
    assert text.splitlines()[2].count("|") == text.splitlines()[0].count("|")
    baseline = Baseline.of([evil], {})
    assert "❌ not run" in changes_markdown(changes(baseline, []))
    assert changes_markdown(changes(baseline, [evil])) == "No change against the baseline.\n"
