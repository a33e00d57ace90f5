"""TaskAutomaton: what it checks, its golden paths, and its JSON."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
from strategies_core import automaton_of, graph, with_loops

from core_eval.path.automaton import AutomatonError, TaskAutomaton
from core_eval.path.golden import golden_graph
from core_eval.path.patterns import Anything, Exact, Excluded, Near, OneOf, Range
from core_eval.path.symbols import ANY_ARGUMENTS, Symbol, most_specific_first, ties


def make(delta, accepting, states=("p", "q", "r"), symbols="ab"):
    return TaskAutomaton(
        states=states,
        symbols=[Symbol(name, name, {}) for name in symbols],
        start="p",
        accepting=accepting,
        delta=delta,
        where="here",
    )


@pytest.mark.parametrize(
    ("delta", "accepting", "words"),
    [
        ({("p", "a"): "z"}, ["q"], "here: state 'p', symbol 'a': state 'z' is not declared"),
        ({("p", "z"): "q"}, ["q"], "here: state 'p': symbol 'z' is not in the alphabet"),
        ({("p", "a"): "q"}, ["z"], "here: accepting state 'z' is not declared"),
        ({("p", "a"): "q"}, ["r"], "no golden path"),
        ({("p", "a"): "q"}, [], "no golden path"),
    ],
)
def test_faults(delta, accepting, words):
    with pytest.raises(AutomatonError) as caught:
        make(delta, accepting)
    assert words in caught.value.faults[0]


def test_states_and_symbols_declared_twice():
    with pytest.raises(AutomatonError, match="state is declared twice"):
        make({("p", "a"): "q"}, ["q"], states=("p", "q", "q"))
    with pytest.raises(AutomatonError, match="symbol is declared twice"):
        make({("p", "a"): "q"}, ["q"], symbols="aab")


def test_next_and_symbol_of():
    automaton = make({("p", "a"): "q", ("q", "b"): "q"}, ["q"], states=("p", "q"))
    assert automaton.delta.get(("p", "a")) == "q"
    assert automaton.delta.get(("p", "b")) is None
    assert automaton.loops["q"] == ("b",)
    assert automaton.progress["p"] == (("a", "q"),)


@pytest.mark.parametrize("cyclic", [False, True])
def test_golden_paths_are_those_of_the_oracle(cyclic):
    for seed in range(300):
        rng = Random(seed)
        task = with_loops(rng, graph(rng, cyclic=cyclic))
        automaton = automaton_of(task)
        paths = list(automaton.golden_paths())
        assert sorted(paths) == sorted(tokens for tokens, _ in task.golden())
        assert list(automaton.golden_paths(3)) == paths[:3]
        lengths = sum({1 << len(path) for path in paths})
        assert golden_graph(automaton).lengths == lengths


def test_golden_paths_come_one_by_one():
    symbols = [Symbol(f"s{n}", f"s{n}", {}) for n in range(40)]
    delta = {}
    for place in range(20):
        delta[f"q{place}", f"s{2 * place}"] = f"q{place + 1}"
        delta[f"q{place}", f"s{2 * place + 1}"] = f"q{place + 1}"
    automaton = TaskAutomaton(
        states=[f"q{n}" for n in range(21)], symbols=symbols, start="q0", accepting=["q20"], delta=delta
    )
    assert len(list(automaton.golden_paths(5))) == 5


def test_json_keeps_everything():
    patterns = {
        "exact": Exact({"a": [1, True, None]}),
        "not": Excluded(("x", 1.5)),
        "any": Anything(),
        "near": Near(1.5, 0.25),
        "rel": Near(-2.0, 0.1, relative=True),
        "min": Range(1, None),
        "both": Range(None, 2.5),
        "in": OneOf((1, "two")),
    }
    automaton = TaskAutomaton(
        states=["p", "q", "ü"],
        symbols=[Symbol("do it", "do", patterns), Symbol("look", "look", {})],
        start="p",
        accepting=["q"],
        delta={("p", "do it"): "q", ("p", "look"): "p"},
    )
    copy = TaskAutomaton.from_json(automaton.to_json())
    assert copy == automaton
    assert copy.symbols["do it"].arguments == patterns
    assert dict(copy.delta) == dict(automaton.delta)
    assert (copy.start, copy.accepting, copy.states) == ("p", {"q"}, automaton.states)


@pytest.mark.parametrize("text", ["{}", "[]", "no json", '{"states": 3}'])
def test_other_json_is_refused(text):
    with pytest.raises(AutomatonError):
        TaskAutomaton.from_json(text)


def test_ties_are_those_of_all_pairs():
    rng = Random(3)
    values = [
        Exact(1),
        Exact(1.0),
        Exact(True),
        Exact("a"),
        Exact([1]),
        Exact([1.0]),
        Exact({"k": 1}),
        Anything(),
    ]
    values += [Excluded((1,)), OneOf((1, "a")), Range(0, 5)]
    found = 0
    for _ in range(300):
        symbols = [
            Symbol(
                f"s{n}",
                rng.choice(["go", "look"]),
                {name: rng.choice(values) for name in ("x", "y", "*") if rng.random() < 0.5},
            )
            for n in range(8)
        ]
        expected = set()
        for tool in ("go", "look"):
            same = sorted(
                (one for one in symbols if one.tool == tool), key=lambda one: one.specificity, reverse=True
            )
            for first, second in combinations(same, 2):
                rivals = first.specificity == second.specificity and first.may_overlap(second)
                if rivals and ANY_ARGUMENTS not in second.arguments:
                    expected.add((first.name, second.name))
        told = [
            (first.name, second.name)
            for same_tool in most_specific_first(symbols).values()
            for first, second in ties(same_tool)
        ]
        assert len(told) == len(set(told))
        assert set(told) == expected
        found += len(told)
    assert found > 100
