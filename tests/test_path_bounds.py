"""Where an exact score would cost too much, the bounds hold the exact one between them."""

from __future__ import annotations

from random import Random

import pytest
from oracle_core import oracle_scores
from strategies_core import automaton_of, calls_of, graph, lattice, trace, with_loops

from core_eval.path import Call, Symbol, TaskAutomaton, golden, order, refinement, score_path

BOUNDED = ("path_correctness", "pc_ktc", "path_correctness_hlr", "efficiency")


def draw(seed, shape, longest=9):
    rng = Random(seed)
    task = with_loops(rng, shape(rng))
    return task, trace(rng, task, longest), rng.choice([0.0, 0.3, 0.5, 1.0])


def check_bounds(scores, expected):
    for name in BOUNDED:
        found, exact = getattr(scores, name), expected[name]
        if name in scores.bounds:
            low, high = scores.bounds[name]
            assert low < high
            assert low - 1e-12 <= (exact or 0.0) <= high + 1e-12, name
            assert (found or 0.0) == low
        elif exact is None:
            assert found is None
        else:
            assert abs(found - exact) <= 1e-12, name
    assert scores.exact is (not scores.bounds)


@pytest.mark.parametrize("limit", [2, 4, 8])
def test_cyclic_graphs_with_too_many_simple_paths(monkeypatch, limit):
    monkeypatch.setattr(golden, "LARGE_TREE", limit)
    inexact = 0
    for seed in range(400):
        task, calls, lam = draw(seed, lambda rng: graph(rng, cyclic=True))
        scores = score_path(automaton_of(task), calls_of(calls), lam=lam)
        check_bounds(scores, oracle_scores(task, calls, lam=lam))
        inexact += not scores.exact
    assert inexact >= 20


def test_walks_that_are_too_many_leave_one_as_the_upper_bound(monkeypatch):
    monkeypatch.setattr(golden, "LARGE_TREE", 3)
    monkeypatch.setattr(golden, "WALK_EDGES", 0)
    for seed in range(200):
        task, calls, lam = draw(seed, lambda rng: graph(rng, cyclic=True))
        scores = score_path(automaton_of(task), calls_of(calls), lam=lam)
        check_bounds(scores, oracle_scores(task, calls, lam=lam))


def test_order_with_too_many_unfolded_states(monkeypatch):
    monkeypatch.setattr(golden, "SMALL_TREE", 0)
    monkeypatch.setattr(order, "UNFOLDED_STATES", 12)
    inexact = 0
    for seed in range(400):
        task, calls, lam = draw(seed, lattice)
        scores = score_path(automaton_of(task), calls_of(calls), lam=lam)
        check_bounds(scores, oracle_scores(task, calls, lam=lam))
        assert set(scores.bounds) <= {"pc_ktc"}
        inexact += not scores.exact
    assert inexact >= 20


@pytest.mark.parametrize("shape", [graph, lattice])
def test_refinement_that_would_take_too_much_work(monkeypatch, shape):
    monkeypatch.setattr(refinement, "WORK", 0)
    inexact = 0
    for seed in range(400):
        task, calls, lam = draw(seed, shape)
        scores = score_path(automaton_of(task), calls_of(calls), lam=lam)
        check_bounds(scores, oracle_scores(task, calls, lam=lam))
        assert set(scores.bounds) <= {"path_correctness_hlr"}
        inexact += not scores.exact
    assert 10 <= inexact < 100


def test_an_agent_that_babbles_for_long_is_bounded_in_no_time():
    tokens = [f"s{n}" for n in range(6)]
    automaton = TaskAutomaton(
        states=[f"q{n}" for n in range(7)],
        symbols=[Symbol(token, token, {}) for token in tokens],
        start="q0",
        accepting=["q6"],
        delta={(f"q{n}", token): f"q{n + 1}" for n, token in enumerate(tokens)},
    )
    rng = Random(1)
    babble = [Call(rng.choice(["s0", "s1", "s3", "s5"]), {}) for _ in range(600)]
    scores = score_path(automaton, babble)
    assert set(scores.bounds) == {"path_correctness_hlr"}
    low, high = scores.bounds["path_correctness_hlr"]
    assert 0.0 <= low < high < 0.1


def test_a_large_cyclic_task_is_bounded_and_says_so():
    places = [f"p{n}" for n in range(12)]
    delta = {(a, f"go_{b}"): b for a in places for b in places if a != b}
    automaton = TaskAutomaton(
        states=places,
        symbols=[
            Symbol(f"go_{b}", "go", {}) if b == "p0" else Symbol(f"go_{b}", f"go_{b}", {}) for b in places
        ],
        start="p0",
        accepting=["p11"],
        delta=delta,
    )
    scores = score_path(automaton, [Call(f"go_p{n}", {}) for n in (3, 5, 7, 5, 11)])
    assert not scores.exact
    low, high = scores.bounds["pc_ktc"]
    assert 0.0 < low < high <= 1.0
    assert scores.path_correctness == pytest.approx(9 / 11, abs=1e-12)
