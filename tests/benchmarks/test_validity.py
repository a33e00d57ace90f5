"""The arithmetic of the study of the metrics' validity, on cases that can be counted by hand."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from agents.baselines.mutated import KINDS
from benchmarks import validity, validity_figures
from benchmarks.validity import Played, identity, measure, mutations
from benchmarks.validity_figures import (
    AGENTS,
    LAMBDAS,
    METRICS,
    RATES,
    Measured,
    corrected,
    curves,
    kendall,
    picture,
    ranks,
    shifts,
    smallest_differences,
    swept,
    told_shares,
    weighted,
    with_beta,
)
from benchmarks.validity_kept import packed, read, with_equal_seeds
from benchmarks.validity_paths import PathScores
from configs.suites import task_ref
from configs.tasks_loader import load_task
from core_eval.log import LogReader, RunLog
from core_eval.log.rows import logged_calls
from core_eval.path.scorer import score_path
from core_eval.run.config import Cell, RunConfig
from core_eval.run.plan import Run
from core_eval.score.repeated import passed


def kept(task: str, world: str = "farm_rover") -> dict:
    """Paths 0 and 1, a right and a wrong one; the wrong one is each agent's that skips, from rate 0.4 on."""
    good = dict.fromkeys(METRICS, 1.0) | {"harmful_call_rate": 0.0, "harm": "000", "ktc": [1.0] * 5}
    bad = dict.fromkeys(METRICS, 0.25) | {"final_state_ok": 1.0, "harm": "010", "efficiency": None}
    bad |= {"ktc": [1.0 - lam for lam in LAMBDAS]}
    cells = {f"{kind}:{rate}": [int(kind == "skip" and rate >= 0.4)] * 2 for kind in KINDS for rate in RATES}
    return {"task": task, "world": world, "paths": [good, bad], "cells": cells}


TASKS = Measured.of([kept(f"t{k}") for k in range(4)])


def test_kept_lines_become_arrays():
    assert TASKS.scores.shape == (len(METRICS), 4, len(KINDS), len(RATES), 2)
    skip = TASKS.metric("path_correctness")[0, 0, :, 0]
    assert skip.tolist() == [1.0] * 4 + [0.25] * 7
    assert np.isnan(TASKS.metric("efficiency")[0, 0, 5, 0])
    assert TASKS.lam[:, 0, 0, 5, 0].tolist() == [1.0, 0.75, 0.5, 0.25, 0.0]


def test_prefix_criticality_of_a_mask():
    assert with_beta("", 0.5) == 1.0
    assert with_beta("010", 0.5) == pytest.approx(1.0 - 0.5 / 0.875 * 0.5)
    assert with_beta("010", 1.0) == pytest.approx(2 / 3)


def test_equal_values_share_the_mean_of_their_ranks():
    assert ranks(np.array([0.3, 0.9, 0.3, 0.1])).tolist() == [2.5, 1.0, 2.5, 4.0]


def test_kendalls_tau_b_with_a_tie():
    one, other = np.array([1.0, 2.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0, 4.0])
    assert kendall(one, other) == pytest.approx(5 / (5 * 6) ** 0.5)
    assert kendall(one, -one) == pytest.approx(-1.0)


def test_final_state_that_forgives_lifts_an_agent_by_the_places_that_pc_takes():
    found = {(one.kind, one.rate): one.places for one in shifts(TASKS)}
    # By PC two of 15 share the last places, 14.5; by the final state all share the middle one, 8.
    assert found["skip", 0.4].mean == pytest.approx(6.5)
    assert found["swap", 0.4].mean == pytest.approx(-1.0)
    assert found["skip", 0.4].units == 4
    assert len(found) == len(AGENTS) and len(corrected(shifts(TASKS))) == len(AGENTS)


def test_ranks_are_stable_where_a_parameter_changes_nothing():
    found = {one.setting: one for one in swept("lambda", LAMBDAS, TASKS.lam)}
    assert list(found) == ["lambda 0", "lambda 0.25", "lambda 0.75", "lambda 1"]
    assert found["lambda 1"].tau == found["lambda 1"].low == 1.0
    assert all(one.tau == pytest.approx(1.0) for one in weighted(TASKS))


def test_told_shares_leave_out_what_is_undefined():
    rng = np.random.default_rng(0)
    noise, gap = rng.normal(0.0, 1.0, (2000, 100)), 0.28
    part = np.where(rng.random((2000, 100)) < 0.5, np.nan, noise + gap)
    false, told, half, same, nothing = told_shares(
        np.stack([noise, noise + gap, part, np.zeros_like(noise), np.full_like(noise, np.nan)])
    )
    assert false == pytest.approx(0.05, abs=0.02)
    assert told == pytest.approx(0.79, abs=0.04), "2.8 standard errors"
    assert half == pytest.approx(0.50, abs=0.06)
    assert same == nothing == 0.0


def test_the_smallest_difference_is_that_of_the_normal_approximation(monkeypatch):
    monkeypatch.setattr(validity_figures, "DRAWS", 300)
    rng = np.random.default_rng(1)
    rates = np.array(RATES)[None, :, None]
    falls = (rng.random((60, len(RATES), 20)) >= rates).astype(float)
    scores = np.stack([falls, 1.0 - falls, np.ones_like(falls)])
    falling, rising, blind = smallest_differences(scores, "test")
    # 0.08 is 2.84 standard errors of the difference of 0.9 and 0.82 over 300 episodes each.
    assert falling.difference == pytest.approx(0.08, abs=0.021) and not falling.better
    assert rising.difference == falling.difference and rising.better
    assert blind.difference is None


def test_kept_lines_are_packed_and_read_again_without_one_that_was_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    tasks = "users_list", "home_lights_of_two_rooms"
    monkeypatch.setattr(validity, "_LOADED", {name: load_task(name) for name in tasks})
    plain, whole = tmp_path / "kept.jsonl", tmp_path / "kept.jsonl.xz"
    lines = [measure(name, 2) for name in tasks]
    plain.write_text(json.dumps(lines[0]) + "\n" + json.dumps(lines[1])[:40])
    whole.write_bytes(packed(lines))
    assert read(whole) == lines and read(plain) == lines[:1]
    assert read(tmp_path / "none") == []
    lines[0]["paths"][0]["prefix_criticality"] += 0.1
    with pytest.raises(ValueError, match="what their columns do not tell"):
        packed(lines)


def test_more_seeds_go_on_from_fewer_and_are_cut_to_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(validity, "_LOADED", {"users_stamp_and_add": load_task("users_stamp_and_add")})
    few, more = (measure("users_stamp_and_add", seeds) for seeds in (1, 3))
    assert measure("users_stamp_and_add", 3, few) == more
    assert with_equal_seeds([{**more, "task": "b"}, {**few, "task": "a"}]) == [
        {**few, "task": "a"},
        {**few, "task": "b"},
    ]


@pytest.mark.parametrize("task_id", ["ask_which_bob", "recharge_and_go_home"])
def test_paths_are_scored_as_the_episodes_of_a_run(task_id: str, tmp_path: Path):
    task = load_task(task_id)
    paths = {
        identity(calls): calls
        for (_, rate, seed), calls in mutations(task, 1).items()
        if rate in (0.0, 0.4) and seed == 0
    }
    agents = {f"scripted:{place}": Played(calls) for place, calls in enumerate(paths.values())}
    rig = f"sim:{task.world.name}"
    cells = tuple(Cell(task=task_ref(task), rig=rig, agent=spec) for spec in agents)
    with RunLog(tmp_path / "run.db") as log:
        Run.of(RunConfig(cells=cells, keep_going=False), log, agents=agents).start()
    scored = PathScores(task)
    with LogReader(tmp_path / "run.db") as reader:
        for row, calls in zip(reader.episodes(), paths.values(), strict=True):
            made = logged_calls(reader.steps(row.id))
            found, automaton = scored.of(Played(calls)), reader.automaton(row)
            scores = {**row.scores, "passed": None if passed(row) is None else float(passed(row))}
            assert {name: found[name] for name in METRICS} == {name: scores.get(name) for name in METRICS}
            assert found["ktc"] == [score_path(automaton, made, lam=lam).pc_ktc for lam in LAMBDAS]
            assert found["harm"].count("1") == scores["harmful_calls"]


def test_the_picture_has_a_line_and_a_band_of_each_kind_in_each_panel():
    root = ElementTree.fromstring(picture(curves(TASKS)))
    space = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f".//{space}polygon")) == len(METRICS) * len(KINDS)
    lines = [one for one in root.iter(f"{space}path") if one.get("class", "").startswith("line")]
    assert len(lines) == (len(METRICS) + 1) * len(KINDS)
