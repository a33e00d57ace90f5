"""A baseline notices what got worse, and only that."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from episode_rows import ROW

from benchmarks.chance import difficulties, failed_gates, rows
from core_eval.report.tables.markdown import changes_markdown, power_lines, summary_markdown
from core_eval.score.gate import Baseline, changes

SCORES = {"path_correctness": 0.8, "harmful_calls": 1.0, "wall_seconds": 3.0}


def row(seed: int = 0, agent: str = "oracle", **scores: float):
    # Distinct fingerprints: each is a try of its own.
    return replace(ROW, agent=agent, seed=seed, fingerprint=f"{agent}{seed}", scores=SCORES | scores)


def found(before, now, **options):
    return changes(Baseline.model_validate_json(Baseline.of(before, {}).model_dump_json()), now, **options)


def verdicts(before, now, **options) -> dict[str, str]:
    return {one.metric: one.verdict for one in found(before, now, **options) if one.verdict != "same"}


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
def test_without_chance_a_change_of_one_episode_counts_by_its_direction(scores, expected) -> None:
    assert verdicts([row()], [row(**scores)]) == expected


def test_a_file_of_before_names_agents_by_their_specification() -> None:
    saved = Baseline.of([row(agent="scripted:new")], {}).model_dump_json()
    saved = saved.replace('"scripted:new"', '"scripted:a/folder/new.jsonl"')
    now = [row(agent="scripted:new", path_correctness=0.7)]
    told = changes(Baseline.model_validate_json(saved), now)
    assert {(one.agent, one.verdict) for one in told if one.metric == "path_correctness"} == {
        ("scripted:new", "worse")
    }


def test_a_tolerance_is_exact_at_its_edge() -> None:
    now = [row(path_correctness=0.5)]
    before = [row(path_correctness=0.75)]
    assert verdicts(before, now, tolerances={"path_correctness": 0.25}) == {}
    assert verdicts(before, now, tolerances={"path_correctness": 0.2499}) == {"path_correctness": "worse"}


def model(seed: int, **more):
    options = {"temperature": 0, "grammar": "on"}
    return replace(row(seed, "llama"), agent_info={"sha256": "00", "options": options}, **more)


def test_who_leaves_nothing_to_chance_is_compared_exactly() -> None:
    lower = {"path_correctness": 0.7}
    greedy = [model(0)], [model(0, scores=SCORES | lower)]
    assert verdicts(*greedy) == {"path_correctness": "worse"}
    for change in (
        {"simulated": False},
        {"agent_info": {"sha256": "00", "options": {"temperature": 0.7}}},
        # A server's model is not known to be the same.
        {"agent_info": {"options": {"temperature": 0}}},
        {"agent": "random", "agent_info": {}},
    ):
        before, now = ([replace(one, **change) for one in rows] for rows in greedy)
        assert set(verdicts(before, now).values()) == {"not tested"}, change
    # A repeat that differed tells that there is chance.
    again = [model(0), model(0, fingerprint="another")]
    assert set(verdicts(again, [model(0)]).values()) == {"not tested"}
    assert verdicts([model(0), model(0)], [model(0), model(0)]) == {}


def test_an_older_file_that_does_not_say_takes_it_from_the_run() -> None:
    content = Baseline.of([row()], {}).model_dump()
    del content["episodes"][0]["repeatable"]
    old = Baseline.model_validate(content)
    assert "worse" in {one.verdict for one in changes(old, [row(path_correctness=0.7)])}


def test_what_noise_explains_is_no_change_and_a_shift_is_one() -> None:
    noise = [0.1, -0.1, 0.12, -0.09, 0.05, -0.11]
    before = [row(seed, "random") for seed in range(6)]
    noisy = [row(seed, "random", path_correctness=0.8 + d) for seed, d in enumerate(noise)]
    shifted = [row(seed, "random", path_correctness=0.5 + d) for seed, d in enumerate(noise)]
    assert verdicts(before, noisy) == {}
    assert verdicts(before, shifted) == {"path_correctness": "worse"}
    assert verdicts(shifted, before) == {"path_correctness": "better"}
    assert verdicts(before, shifted, tolerances={"path_correctness": 0.25}) == {}
    assert verdicts(before, shifted, alpha=1e-6) == {}
    (line,) = power_lines(found(before, noisy))
    assert line.startswith("random: told in 4 of 5 cases: PC by 0.1")


def test_its_p_value_is_that_of_a_one_sided_t_test_over_templates() -> None:
    drops = np.random.default_rng(2).normal(0.05, 0.1, (8, 3))

    def run(drop):
        return [
            replace(
                row(seed, "random", path_correctness=0.8 - one, pc_ktc=0.8 - one),
                task=f"t{task}",
                template_=f"m{task // 2}",
            )
            for task, tries in enumerate(drop)
            for seed, one in enumerate(tries)
        ]

    means = drops.reshape(4, 6).mean(axis=1)
    exact = scipy.stats.ttest_1samp(means, 0.0, alternative="greater").pvalue
    reach = scipy.stats.t.ppf(0.95, 3) + scipy.stats.t.ppf(0.8, 3)
    (worse,) = found(run(0.0 * drops), run(drops), metrics=("path_correctness",))
    (better,) = found(run(drops), run(0.0 * drops), metrics=("path_correctness",))
    assert exact < 0.4, "twice of it is below 1"
    assert (worse.worsening.p, better.worsening.p) == pytest.approx((exact, 1.0 - exact))
    assert worse.worsening.detectable == pytest.approx(reach * means.std(ddof=1) / 2.0)
    # Of two metrics Holm takes the smaller one twice, and tells as much less.
    reach = scipy.stats.t.ppf(0.975, 3) + scipy.stats.t.ppf(0.8, 3)
    for one in found(run(0.0 * drops), run(drops), metrics=("path_correctness", "pc_ktc")):
        assert one.worsening.p == pytest.approx(2.0 * exact)
        assert one.worsening.detectable == pytest.approx(reach * means.std(ddof=1) / 2.0)


def test_repeats_of_a_start_are_paired_in_their_order() -> None:
    before = [row(0, "random", path_correctness=0.1 * n) for n in range(5)]
    (change,) = (one for one in found(before, before[:4]) if one.metric == "path_correctness")
    assert (change.worsening.episodes, change.before, change.now) == (
        4,
        pytest.approx(0.15),
        pytest.approx(0.15),
    )


def test_what_was_not_run_again_is_missing_and_what_is_new_is_none_of_its_business() -> None:
    assert verdicts([row(0), row(1)], [row(0)]) == {"episodes": "missing"}
    assert verdicts([row(0)], [row(0), row(0, "scripted:two")]) == {"episodes": "new"}
    assert verdicts([row(0)], [replace(row(0), status="error")]) == {"episodes": "missing"}


def test_a_start_is_the_same_however_its_numbers_are_written() -> None:
    def begun(valve: Any, liters: float):
        return replace(row(), init={"tank": [{"ml": liters}], "valve": valve})

    assert verdicts([begun(True, 20.0)], [begun(True, 20)]) == {}
    for other in (begun(True, 20.5), begun(1, 20)):
        assert verdicts([begun(True, 20.0)], [other])["episodes"] == "missing"


def test_an_agent_that_falls_silent_is_worse() -> None:
    idle = replace(row(), calls_made=0, scores=SCORES | {"harmful_calls": 0.0})
    assert set(verdicts([row()], [idle]).values()) == {"worse"}
    before = [row(seed, "random", path_correctness=0.7 + seed / 100) for seed in range(6)]
    silent = [replace(one, calls_made=0) for one in before]
    assert verdicts(before, silent)["path_correctness"] == "worse"
    # Its calls are not judged: none is no improvement.
    assert "better" not in verdicts(before, silent).values()


def test_a_metric_that_is_gone_is_worse() -> None:
    for agent in ("oracle", "random"):
        gone = [replace(row(seed, agent), scores={"harmful_calls": 1.0}) for seed in range(4)]
        assert verdicts([row(seed, agent) for seed in range(4)], gone) == {"path_correctness": "worse"}


def test_markdown_takes_hostile_names() -> None:
    evil = row(agent="a|b<script>`@everyone\n## x")
    text = summary_markdown([evil])
    assert "<script>" not in text and "@everyone" not in text and "\n## x" not in text
    assert text.splitlines()[4].count("|") == text.splitlines()[2].count("|")
    baseline = Baseline.of([evil], {})
    assert "❌ not run" in changes_markdown(changes(baseline, []))
    told = changes_markdown(changes(baseline, [evil]))
    assert told.startswith("No change against the baseline.\n") and "not tested" in told
    assert "<script>" not in told and "\n## x" not in told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tasks", "tries", "runs"),
    [
        (1, 5, 500),
        (5, 3, 300),
        (30, 1, 200),
        *(
            pytest.param(*one, marks=pytest.mark.nightly)
            for one in [(10, 3, 1000), (5, 1, 500), (10, 5, 200)]
        ),
    ],
)
def test_an_unchanged_agent_seldom_fails(tasks: int, tries: int, runs: int) -> None:
    failed, _ = failed_gates(tasks, tries, runs)
    # 1.6 standard deviations of the count above 5 %.
    assert failed <= 0.05 + 1.6 * (0.05 * 0.95 / runs) ** 0.5


@pytest.mark.slow
def test_a_drop_that_is_told_to_be_seen_mostly_is() -> None:
    rng = np.random.default_rng(3)
    seen, sizes = [], []
    for _ in range(100):
        chances = difficulties(rng, 10)
        told = changes(Baseline.of(rows(rng, chances, 5), {}), rows(rng, chances, 5, worse=0.35))
        (pc,) = (one for one in told if one.metric == "path_correctness")
        seen.append(pc.verdict == "worse")
        sizes.append(pc.worsening.detectable)
    # Chances fall by 0.35 and wrong paths have 0.56: PC falls by 0.15.
    assert 0.1 < np.median(sizes) < 0.35
    assert 0.2 < np.mean(seen) < 0.95
