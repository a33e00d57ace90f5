"""The scorer agrees with the brute-force oracle on random automata and traces."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle_core import OracleTask, oracle_scores
from strategies_core import LETTERS, automaton_of, calls_of, graph, lattice, trace, with_loops

from core_eval.path import golden
from core_eval.path.scorer import OnlineScorer, score_path

pytestmark = pytest.mark.slow

WEIGHTS = [0.0, 0.25, 0.5, 0.9, 1.0]
SHAPES = {
    "graph": graph,
    "lattice": lattice,
    "cyclic": lambda rng: graph(rng, cyclic=True),
}


def check(task: OracleTask, calls_tokens, **options) -> None:
    expected = oracle_scores(task, calls_tokens, **options)
    automaton, calls = automaton_of(task), calls_of(calls_tokens)
    scores = score_path(automaton, calls, **options)
    assert scores.exact and not scores.bounds
    found = scores.as_dict()
    for name, value in expected.items():
        if value is None:
            assert found[name] is None, name
        else:
            assert abs(found[name] - value) <= 1e-12, (name, found[name], value)
    online = OnlineScorer(automaton, **options)
    for call in calls:
        seen = online.peek(call)
        assert online.step(call) == seen
    assert online.scores() == scores
    assert online.path_correctness == scores.path_correctness


def draw_and_check(rng: Random, shape: str) -> None:
    task = with_loops(rng, SHAPES[shape](rng))
    options = {"beta": rng.choice(WEIGHTS), "lam": rng.choice(WEIGHTS), "faults_are_harm": rng.random() < 0.2}
    check(task, trace(rng, task), **options)


@pytest.fixture(params=["tree", "graph"])
def way(request, monkeypatch):
    """Align with prefix trees where they are small, as usual, or always with the graph itself."""
    if request.param == "graph":
        monkeypatch.setattr(golden, "SMALL_TREE", 0)
        monkeypatch.setattr(golden, "NODES_PER_STATE", 0)


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(rng=st.randoms(use_true_random=False))
def test_any_task_and_trace(way, shape, rng):
    draw_and_check(rng, shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seeds", [range(300), pytest.param(range(300, 1000), marks=pytest.mark.nightly)])
def test_thousands_of_seeded_tasks_and_traces(way, shape, seeds):
    for seed in seeds:
        draw_and_check(Random(seed), shape)


@pytest.mark.parametrize(("steps", "seed"), [(6, 1), (6, 2), (6, 3), (7, 4), (7, 5)])
def test_unordered_steps(steps, seed):
    rng = Random(seed)
    names = LETTERS[:steps]
    sets = ["".join(name for bit, name in enumerate(names) if done >> bit & 1) for done in range(1 << steps)]
    delta = {
        (done, name): "".join(sorted(done + name)) for done in sets for name in names if name not in done
    }
    delta.update({(done, "R"): done for done in sets})
    task = OracleTask("", {names}, delta, [*names, "R"])
    check(task, trace(rng, task, longest=steps + 3, harms=3), lam=rng.choice(WEIGHTS))
