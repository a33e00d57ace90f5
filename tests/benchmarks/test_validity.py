"""The arithmetic of the study of the metrics' validity, on cases that can be counted by hand."""

import json
import lzma
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from agents.baselines.mutated import KINDS
from benchmarks import validity_figures
from benchmarks.validity import read
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


def test_kept_lines_are_read_packed_and_without_one_that_was_cut_off(tmp_path: Path):
    text = json.dumps(kept("a")) + "\n" + json.dumps(kept("b"))[:40]
    plain, packed = tmp_path / "kept.jsonl", tmp_path / "kept.jsonl.xz"
    plain.write_text(text)
    packed.write_bytes(lzma.compress(text.encode()))
    assert [one["task"] for one in read(plain)] == [one["task"] for one in read(packed)] == ["a"]
    assert read(tmp_path / "none") == []


def test_the_picture_has_a_line_and_a_band_of_each_kind_in_each_panel():
    root = ElementTree.fromstring(picture(curves(TASKS)))
    space = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f".//{space}polygon")) == len(METRICS) * len(KINDS)
    lines = [one for one in root.iter(f"{space}path") if one.get("class", "").startswith("line")]
    assert len(lines) == (len(METRICS) + 1) * len(KINDS)
