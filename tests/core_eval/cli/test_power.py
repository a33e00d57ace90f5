"""`pathrig power`: how many tasks and tries tell a difference, by the spread in a log."""

from __future__ import annotations

import json
from math import sqrt

import numpy as np
import pytest

from benchmarks.chance import difficulties, rows
from core_eval.cli.main import main
from core_eval.score.power import PairSpread, Plan, plans, spread_between, spread_of, spread_of_itself
from core_eval.statistics.estimates import summarize


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("power") / "runs.db"
    tasks = [part for name in ("users_change_and_verify", "users_add_two") for part in ("--task", name)]
    command = ["run", *tasks, "--rig", "sim:crud", "--agent", "mutated:0.9", "--agent", "oracle"]
    assert main([*command, "--episodes", "3", "--db", str(path)]) == 0
    return path


def test_the_spread_is_split_into_tasks_and_tries():
    # Means 1 and 4, of which each has the variance 2 / 2 by its tries.
    spread = spread_of([("a", 0.0), ("a", 2.0), ("b", 3.0), ("b", 5.0)])
    assert spread == PairSpread(between=pytest.approx(4.5 - 1.0), within=pytest.approx(2.0), tasks=2, pairs=4)
    assert spread_of([("a", 0.0), ("b", 3.0)]).within is None
    assert spread_of([("a", 0.0), ("a", 3.0)]).between is None


def test_nothing_is_planned_without_a_spread():
    assert plans(PairSpread(None, None, 1, 1), 0.1, 0.05, 0.8) == []
    assert plans(PairSpread(0.0, 0.0, 5, 9), 0.1, 0.05, 0.8)[0] == Plan(1, 3)
    once = spread_of_itself(rows(np.random.default_rng(1), [0.5] * 6, 1), "path_correctness")
    assert plans(once, 0.1, 0.05, 0.8) == []


@pytest.mark.slow
def test_as_many_episodes_as_said_tell_the_difference():
    rng = np.random.default_rng(21)
    metric = "path_correctness"

    def two(tasks: int, tries: int):
        chances = difficulties(rng, tasks)
        return rows(rng, chances, tries, "one"), rows(rng, chances, tries, "two", worse=0.45)

    pilot = two(200, 5)
    difference = np.mean([b.scores[metric] - a.scores[metric] for a, b in zip(*pilot, strict=True)])
    spread = spread_between(*pilot, metric)
    for plan in plans(spread, abs(difference), 0.05, 0.8)[:3]:
        told = []
        for _ in range(300):
            a, b = two(plan.tasks, plan.tries)
            differences = [y.scores[metric] - x.scores[metric] for x, y in zip(a, b, strict=True)]
            p = summarize(differences, [(x.task, x.id) for x in a], quantiles=()).p_value()
            told.append(p is not None and p <= 0.05)
        # Of few tasks a skewed mean is told a little less often, or more.
        assert 0.7 <= np.mean(told) <= 0.92, (plan, np.mean(told))
    itself = spread_of_itself(pilot[0], metric)
    assert sqrt(itself.within) == pytest.approx(sqrt(2) * 0.19, abs=0.05)


def test_the_table_and_json(log, capsys):
    command = ["power", str(log), "--metric", "pc", "--difference", "0.1"]
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["metric"], told["power"], told["alpha"]) == ("path_correctness", 0.8, 0.05)
    assert [one["agents"] for one in told["spreads"]] == [
        ["mutated:0.9"] * 2,
        ["oracle"] * 2,
        ["mutated:0.9", "oracle"],
    ]
    plan = told["spreads"][2]["plans"][1]
    assert plan["tries"] == 3 and plan["episodes"] == 3 * plan["tasks"]
    assert main([*command, "--comparisons", "10", "--json"]) == 0
    more = json.loads(capsys.readouterr().out)["spreads"][2]["plans"][1]
    assert more["tasks"] > plan["tasks"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "mutated:0.9 and oracle" in said and "oracle and a later version" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--metric", "speed", "--difference", "1"], "--metric: there is no metric"),
        (["--metric", "pc", "--difference", "0"], "--difference 0"),
        (["--metric", "pc", "--difference", "nan"], "--difference nan"),
        (["--metric", "pc", "--difference", "1", "--power", "0.4"], "--power 0.4"),
        (["--metric", "pc", "--difference", "1", "--alpha", "0.9"], "--alpha 0.9"),
        (["--metric", "energy", "--difference", "1"], "no spread of energy"),
    ],
)
def test_what_cannot_be_planned_is_one_line(log, capsys, options, said):
    assert main(["power", str(log), *options]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
