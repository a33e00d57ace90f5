"""Two agents compared: paired by task, seed and start."""

import io
import json
from dataclasses import replace

import pytest
from episode_rows import ROW
from rich.console import Console

from core_eval.report.tables.agents import comparisons_table
from core_eval.score.comparison import corrected
from core_eval.score.contrast import comparison_json, comparisons
from core_eval.score.repeated import spread
from core_eval.score.summary import run_json


def row(agent: str, task: str, seed: int, pc: float, **more):
    return replace(ROW, agent=agent, task=task, seed=seed, scores={"path_correctness": pc}, **more)


def of_tasks(agent: str, better: float):
    """Tasks differ by much more than agents do, which a comparison that is not paired cannot see through."""
    level = {"a": 0.1, "b": 0.4, "c": 0.7}
    return [
        row(agent, task, seed, level[task] + better * (1 + seed / 10)) for task in level for seed in range(3)
    ]


def test_a_difference_is_paired_by_task_and_seed() -> None:
    rows = of_tasks("one", 0.1) + of_tasks("two", 0.0)
    (told,) = comparisons(rows)
    pc = told.differences["path_correctness"]
    assert (told.after, told.before, told.pairs) == ("one", "two", 9)
    assert pc.mean == pytest.approx(0.11)
    assert pc.low is not None and 0.09 <= pc.low < 0.1 < pc.mean < pc.high <= 0.13
    assert told.differences["efficiency"].mean is None
    turned = comparisons(of_tasks("two", 0.0) + of_tasks("one", 0.1))[0]
    assert turned.differences["path_correctness"].mean == pytest.approx(-0.11)


def test_only_what_both_did_from_the_same_start_is_compared() -> None:
    rows = [
        row("one", "a", 0, 0.9),
        row("one", "a", 1, 0.1),
        row("one", "b", 0, 0.1),
        row("two", "a", 0, 0.4),
        row("two", "b", 0, 0.9, init={"battery": 0.5}),
        row("two", "c", 7, 0.9),
        row("two", "a", 1, 0.9, status="error"),
    ]
    (told,) = comparisons(rows)
    assert told.pairs == 1
    pc = told.differences["path_correctness"]
    assert (pc.mean, pc.low, pc.why_none, pc.p_value()) == (0.5, None, "too few", None)
    assert comparisons([row("one", "a", 0, 0.9), row("two", "b", 0, 0.4)]) == []
    (same,) = comparisons([row("one", "a", 0, 0.9, init={"x": 2}), row("two", "a", 0, 0.4, init={"x": 2.0})])
    assert same.pairs == 1


def test_running_it_all_again_changes_no_comparison() -> None:
    rows = [replace(one, fingerprint=f"{n}") for n, one in enumerate(of_tasks("one", 0.1))]
    rows += [replace(one, fingerprint=f"other {n}") for n, one in enumerate(of_tasks("two", 0.0))]
    again = [replace(one, run_id=2, id=one.id + 100) for one in rows]
    once, twice = (comparisons(own)[0].differences["path_correctness"] for own in (rows, rows + again))
    assert (twice.mean, twice.low, twice.high) == pytest.approx((once.mean, once.low, once.high))
    assert twice.distinct == once.distinct == 9
    same = [replace(one, fingerprint=f"{one.agent} {one.task}") for one in rows]
    assert comparisons(same)[0].differences["path_correctness"].distinct == 3


def test_a_difference_has_the_p_value_of_a_paired_t_test() -> None:
    rows = [row("one", "a", seed, 0.5 + 0.1 * seed) for seed in range(3)]
    rows += [row("two", "a", seed, 0.5) for seed in range(3)]
    pc = comparison_json(comparisons(rows)[0])["differences"]["path_correctness"]
    # Differences 0, 0.1, 0.2: mean 0.1, standard deviation 0.1.
    assert pc["standard_error"] == pytest.approx(0.1 / 3**0.5)
    assert pc["p"] == pytest.approx(0.2254, abs=1e-4)
    assert pc["effect_size"] == pytest.approx(1.0)
    assert pc["units"] == 3


def test_p_values_are_corrected_for_all_that_are_shown() -> None:
    rows = of_tasks("one", 0.1) + of_tasks("two", 0.0) + of_tasks("three", 0.3)
    tries = [
        replace(one, scores={"path_correctness": one.scores["path_correctness"] + 0.01 * n % 0.04})
        for n, one in enumerate(rows)
    ]
    found = comparisons(tries, ["path_correctness", "efficiency"])
    tested = corrected([one.differences for one in found])
    raw = [one.differences["path_correctness"].p_value() for one in found]
    # Nobody has an efficiency: three tests.
    assert [one["efficiency"].p for one in tested] == [None] * 3
    assert min(one["path_correctness"].p for one in tested) == pytest.approx(3 * min(raw))
    for one, own in zip(found, tested, strict=True):
        least = one.differences["path_correctness"].least_told(0.05 / 3)
        assert least and own["path_correctness"].detectable == least
    same = comparisons(of_tasks("one", 0.1) + of_tasks("two", 0.1))
    (untested,) = corrected([one.differences for one in same])
    assert {one.p for one in untested.values()} == {None}


def test_the_summary_and_the_tables_tell_it() -> None:
    rows = of_tasks("llama", -0.1) + of_tasks("oracle", 0.0) + of_tasks("random", -0.3)
    summary = run_json(rows)["summary"]
    assert [one["agents"] for one in summary["comparisons"]] == [
        ["llama", "oracle"],
        ["llama", "random"],
        ["oracle", "random"],
    ]
    json.dumps(summary, allow_nan=False)
    console = Console(file=io.StringIO(), width=80)
    console.print(comparisons_table(rows))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "llama -" in text and "-0.11" in text and "[-0.12, -0.10]" in text and "p " in text
    assert max(map(len, text.splitlines())) <= 80
    assert comparisons_table(of_tasks("llama", 0.0)) is None


def test_of_many_agents_the_table_compares_each_with_the_first() -> None:
    rows = [one for n in range(5) for one in of_tasks(f"agent{n}", n / 10)]
    table = comparisons_table(rows)
    assert table is not None and table.row_count == 4
    assert len(run_json(rows)["summary"]["comparisons"]) == 10


def test_instances_of_a_template_are_one_unit() -> None:
    plain = comparisons(of_tasks("one", 0.1) + of_tasks("two", 0.0))[0].differences["path_correctness"]
    rows = [
        replace(one, task=f"{one.task}@{one.seed}", template_=one.task)
        for one in of_tasks("one", 0.1) + of_tasks("two", 0.0)
    ]
    drawn = comparisons(rows)[0].differences["path_correctness"]
    assert (drawn.mean, drawn.low, drawn.high) == pytest.approx((plain.mean, plain.low, plain.high))
    own = spread([one for one in rows if one.agent == "one"], "path_correctness")
    assert own.standard_error == spread(of_tasks("one", 0.1), "path_correctness").standard_error
    assert replace(ROW, task="a@7").template == "a@7", "a log of before has the task alone"


def test_a_pair_and_the_same_turned_round_are_two_tries() -> None:
    """Of one task in which chance decides between two paths their differences would else cancel out."""
    paths = {"one": "aabbab", "two": "abbaab"}
    rows = [
        row(agent, "t", seed, 1.0 if path == "a" else 0.0, fingerprint=path)
        for agent, taken in paths.items()
        for seed, path in enumerate(taken)
    ]
    pc = comparisons(rows)[0].differences["path_correctness"]
    # aa, ab, bb and ba; the last two pairs repeat.
    assert (pc.distinct, pc.mean) == (4, 0.0)
    assert pc.standard_error is not None and pc.standard_error > 0.2
