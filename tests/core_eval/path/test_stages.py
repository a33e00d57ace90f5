"""Plans of stages, whose states are not listed, score as automata whose states are."""

from __future__ import annotations

import tracemalloc
from random import Random
from time import process_time

import pytest
from oracle_core import OracleTask, oracle_scores
from strategies_core import BOUNDED, check_bounds

from core_eval.path import plan, staged_alignment
from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call
from core_eval.path.plan import compile_plan
from core_eval.path.scorer import OnlineScorer, score_path


def draw(rng, most=7):
    """Stages of up to that many steps, distinct or not, and calls near or far from them."""
    letters = [*"abcdefg"] if rng.random() < 0.6 else [rng.choice("abcde") for _ in range(7)]
    left, stages = most, []
    for _ in range(rng.choice([1, 1, 2, 3, 4])):
        size = min(left, rng.choice([1, 1, 2, 3, 4, most]))
        left -= size
        stages.append([letters.pop() for _ in range(size)])
    stages = [stage for stage in stages if stage]
    names = [name for stage in stages for name in rng.sample(stage, len(stage))]
    for _ in range(rng.choice([0, 1, 2, 3, 9])):
        place, drawn = rng.randrange(len(names) + 1), rng.random()
        if drawn < 0.3:
            del names[place : place + 1]
        elif drawn < 0.7:
            names.insert(place, rng.choice(["unknown", "R", stages[0][0], stages[-1][-1]]))
        else:
            names[place : place + 2] = names[place : place + 2][::-1]
    free = ["R", "S", *([stages[0][0]] if rng.random() < 0.2 else [])]
    calls = [Call(name, {}, rng.choice(["ok"] * 9 + ["rejected"])) for name in names]
    return stages, free, calls


def compiled(monkeypatch, stages, free, *, listed):
    monkeypatch.setattr(plan, "LISTED_STATES", 10**9 if listed else 0)
    steps = [stage[0] if len(stage) == 1 else {"any_order": stage} for stage in stages]
    found = compile_plan(steps, free_reads=free, file="f", task="t")
    assert (found.stages is None) is listed
    return found


def test_all_scores_are_those_of_the_listed_automaton(monkeypatch):
    for seed in range(200):
        rng = Random(seed)
        stages, free, calls = draw(rng)
        lam = rng.choice([0.0, 0.3, 0.5, 1.0])
        listed = score_path(compiled(monkeypatch, stages, free, listed=True), calls, lam=lam)
        scores = score_path(compiled(monkeypatch, stages, free, listed=False), calls, lam=lam)
        assert listed.exact and scores.exact
        expected = listed.as_dict()
        for name, found in scores.as_dict().items():
            assert found == (pytest.approx(expected[name]) if name in BOUNDED else expected[name]), name


def test_all_scores_are_those_of_brute_force(monkeypatch):
    for seed in range(60):
        stages, free, calls = draw(Random(seed), most=5)
        free = free[:2]
        listed = compiled(monkeypatch, stages, free, listed=True)
        names = {name: name.removesuffix("(*)") for name in listed.symbols}
        delta = {(state, names[symbol]): after for (state, symbol), after in listed.delta.items()}
        task = OracleTask(listed.start, set(listed.accepting), delta, list(dict.fromkeys(names.values())))
        # The oracle is of the first reading, in which whatever is refused is harmful.
        told = [
            (call.name if call.name in task.alphabet and call.status == "ok" else None, call.status)
            for call in calls
        ]
        staged = compiled(monkeypatch, stages, free, listed=False)
        scores = score_path(staged, calls, reading=1)
        assert scores.exact
        check_bounds(scores, oracle_scores(task, told))


def draw_optional(rng, most=6):
    """A set of optional steps, some of them several times, and calls near or far from some of them."""
    stage = [*"abcdefg"][: rng.randint(1, most)]
    stage += rng.choices(stage, k=rng.choice([0, 0, 1, 2]))
    names = rng.sample(stage, rng.randint(0, len(stage)))
    for _ in range(rng.choice([0, 1, 2, 3, 9])):
        names.insert(rng.randrange(len(names) + 1), rng.choice(["unknown", "R", *stage]))
    return stage, [Call(name, {}, rng.choice(["ok"] * 9 + ["rejected"])) for name in names]


def optional(monkeypatch, stage, *, listed):
    monkeypatch.setattr(plan, "LISTED_STATES", 10**9 if listed else 0)
    steps = [{"any_order": [{"optional": step} for step in stage]}]
    return compile_plan(steps, free_reads=["R"], file="f", task="t")


def test_optional_steps_score_as_in_the_listed_automaton(monkeypatch):
    kept = exact = 0
    seeds = 400
    for seed in range(seeds):
        rng = Random(seed)
        stage, calls = draw_optional(rng)
        lam = rng.choice([0.0, 0.3, 0.5, 1.0])
        listed, staged = (optional(monkeypatch, stage, listed=one) for one in (True, False))
        kept += staged.stages is not None
        expected = score_path(listed, calls, lam=lam)
        scores = score_path(staged, calls, lam=lam)
        assert expected.exact
        exact += scores.exact
        check_bounds(scores, {name: getattr(expected, name) for name in BOUNDED})
        for name, found in scores.as_dict().items():
            if name not in {*BOUNDED, "exact", "bounds"}:
                assert found == expected.as_dict()[name], (seed, name)
        online = OnlineScorer(staged)
        for call in calls:
            online.step(call)
        assert online.path_correctness == pytest.approx(expected.path_correctness)
        with monkeypatch.context() as patch:
            patch.setattr(staged_alignment, "WORK", 0)
            check_bounds(score_path(staged, calls, lam=lam), {n: getattr(expected, n) for n in BOUNDED})
    assert kept > 300
    # Of copies that are put in only bounds of the order are known.
    assert exact > 370


def test_the_states_of_optional_steps_are_those_of_the_listed_automaton(monkeypatch):
    for steps in ("ab", "abc", "abcde", "aa", "abab", "aaab"):
        listed, staged = (optional(monkeypatch, steps, listed=one) for one in (True, False))
        assert len(staged.states) == len(staged.accepting) == len(listed.states)
        assert {*staged.accepting} == {*staged.states} and "s9.0" not in staged.accepting
        assert sorted(staged.golden_paths()) == sorted(listed.golden_paths())
        assert TaskAutomaton.from_json(staged.to_json()) == staged != listed


def test_twenty_optional_steps_are_exact_and_small():
    steps = [f"step{number}" for number in range(20)]
    names = [*Random(3).sample(steps, 11), steps[0], "unknown", steps[1]]
    tracemalloc.start()
    task = compile_plan(
        [{"any_order": [{"optional": step} for step in steps]}], free_reads=[], file="f", task="t"
    )
    begun = process_time()
    scores = score_path(task, [Call(name, {}) for name in names])
    spent = process_time() - begun
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert scores.exact and scores.accepted and len(task.states) == 2**20
    # Measured: 0.003 s.
    assert spent < 5 and peak < 50e6


def test_sixteen_and_twenty_steps_in_any_order_are_exact_and_small():
    for count, early in ((16, 0), (20, 0), (20, 1)):
        steps = [f"step{number}" for number in range(count)]
        names = ["unlock", *Random(count).sample(steps, count - 2), steps[0], "unknown", "lock"]
        names[:early] = reversed(names[: early + 1])
        tracemalloc.start()
        task = compile_plan(["unlock", {"any_order": steps}, "lock"], free_reads=[], file="f", task="t")
        begun = process_time()
        scores = score_path(task, [Call(name, {}) for name in names])
        spent = process_time() - begun
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert scores.exact and len(task.states) > 2**count
        # Measured: 0.002 s, and 0.4 s where calls came early; memory is traced here, which is slower.
        assert spent < 5 and peak < 50e6


@pytest.mark.parametrize("limit", [0, 40])
def test_beyond_its_limit_a_score_is_given_as_bounds(monkeypatch, limit):
    inexact = set()
    for seed in range(150):
        stages, free, calls = draw(Random(seed))
        listed = score_path(compiled(monkeypatch, stages, free, listed=True), calls)
        with monkeypatch.context() as patch:
            patch.setattr(staged_alignment, "WORK", limit)
            patch.setattr(staged_alignment, "SEARCH_WORK", limit)
            scores = score_path(compiled(monkeypatch, stages, free, listed=False), calls)
        check_bounds(scores, {name: getattr(listed, name) for name in BOUNDED})
        inexact |= scores.bounds.keys()
    assert inexact == {"path_correctness", "pc_ktc", "path_correctness_hlr"}


def test_states_and_edges_are_those_of_the_listed_automaton(monkeypatch):
    for seed in range(40):
        stages, free, calls = draw(Random(seed), most=5)
        listed, staged = (compiled(monkeypatch, stages, free, listed=one) for one in (True, False))
        assert len(staged.states) == len(set(staged.states)) == len(listed.states)
        assert len(staged.delta) == len(dict(staged.delta)) == len(listed.delta)
        assert sorted(staged.golden_paths()) == sorted(listed.golden_paths())
        assert TaskAutomaton.from_json(staged.to_json()) == staged
        assert staged.states[-1] in staged.accepting and staged.states[0] == staged.start
        online, other = OnlineScorer(staged), OnlineScorer(listed)
        for call in calls:
            mine, theirs = online.step(call), other.step(call)
            assert (mine.kind, mine.symbol, mine.class_) == (theirs.kind, theirs.symbol, theirs.class_)
            assert online.path_correctness == pytest.approx(other.path_correctness)


def test_what_may_follow_what_is_that_of_the_golden_paths(monkeypatch):
    for seed in range(40):
        stages, free, _ = draw(Random(seed), most=5)
        staged = compiled(monkeypatch, stages, free, listed=False)
        paths = list(staged.golden_paths())
        assert {len(path) for path in paths} == {staged.stages.length}
        for first in staged.symbols:
            for second in staged.symbols:
                follows = any(
                    second in path[place + 1 :]
                    for path in paths
                    for place, s in enumerate(path)
                    if s == first
                )
                assert staged.stages.may_follow(second, first) is follows


def test_a_very_large_set_ends_in_time(monkeypatch):
    monkeypatch.setattr(staged_alignment, "WORK", 200_000)
    monkeypatch.setattr(staged_alignment, "SEARCH_WORK", 100_000)
    steps = [f"step{number}" for number in range(500)]
    task = compile_plan([{"any_order": steps}, "lock"], free_reads=[], file="f", task="t")
    begun = process_time()
    scores = score_path(task, [Call(name, {}) for name in ("lock", *steps[::-1][:499], "unknown")])
    # Measured: 0.1 s; without the limit of waiting steps, minutes.
    assert process_time() - begun < 5
    assert scores.bounds["pc_ktc"][0] > 0.4
