"""Symbols replaced by others: the automaton accepts what the calls of its golden paths became."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from core_eval.path.automaton import AutomatonError, TaskAutomaton
from core_eval.path.patterns import Exact
from core_eval.path.substitution import Substituted, substituted
from core_eval.path.symbols import Symbol

RIGHT = "right"
LOOK = Symbol("look", "look", {})


def one(name: str, tool: str = RIGHT) -> Symbol:
    return Symbol(name, tool, {})


def steps(name: str, count: int) -> list[Symbol]:
    return [one(f"{name} {k + 1}") for k in range(count)]


def made(
    delta: Mapping[tuple[str, str], str], into: Mapping[str, Sequence[Symbol]], accepting: Sequence[str]
) -> TaskAutomaton:
    new: Substituted = substituted("0", accepting, delta, into)
    return TaskAutomaton(
        states=new.states, symbols=new.symbols, start="0", accepting=new.accepting, delta=new.delta
    )


def tools(automaton: TaskAutomaton) -> set[tuple[str, ...]]:
    return {tuple(automaton.symbols[name].tool for name in path) for path in automaton.golden_paths()}


def test_one_for_one_leaves_states_and_edges() -> None:
    delta = {("0", "a"): "1", ("1", "b"): "2", ("0", "look"): "0"}
    into = {"a": [one("a", "x")], "b": [one("b", "y")], "look": [LOOK]}
    automaton = made(delta, into, ["2"])
    assert dict(automaton.delta) == delta
    assert (automaton.states, automaton.accepting) == (("0", "1", "2"), {"2"})
    assert tools(automaton) == {("x", "y")}


def test_one_for_several_is_a_row_in_which_loops_hold() -> None:
    delta = {("0", "a"): "1", ("0", "look"): "0", ("1", "both"): "1"}
    into = {"a": steps("a", 3), "look": [LOOK], "both": [one("both 1", "x"), one("both 2", "y")]}
    automaton = made(delta, into, ["1"])
    assert tools(automaton) == {(RIGHT,) * 3}
    looping = {state for state, names in automaton.loops.items() if "look" in names}
    assert len(looping) == 3 and "1" not in looping
    assert automaton.loops["1"] == ("both 1", "both 2")


def test_rows_that_begin_alike_are_told_apart_by_their_ends() -> None:
    """Two to the right, or three and down; and one after one is two."""
    delta = {("0", "a"): "1", ("0", "b"): "2", ("2", "down"): "3", ("0", "c"): "4", ("4", "c"): "1"}
    into = {"a": steps("a", 2), "b": steps("b", 3), "c": steps("c", 1), "down": [one("down", "down")]}
    automaton = made(delta, into, ["1", "3"])
    assert tools(automaton) == {(RIGHT, RIGHT), (RIGHT, RIGHT, RIGHT, "down")}
    assert len(automaton.symbols) == 2


def test_symbols_that_became_alike_are_one() -> None:
    """An argument that told two messages apart is dropped: which of them it was shows later."""
    low, high = (Symbol(name, "send", {"to": Exact("Ann")}) for name in ("low", "high"))
    delta = {("0", "low"): "1", ("0", "high"): "2", ("1", "x"): "3", ("2", "y"): "3"}
    into = {"low": [low], "high": [high], "x": [one("x", "x")], "y": [one("y", "y")]}
    automaton = made(delta, into, ["3"])
    assert tools(automaton) == {("send", "x"), ("send", "y")}
    assert automaton.states == ("0", "1 or 2", "3")


def test_what_loops_in_one_of_two_states_loops_in_both() -> None:
    delta = {("0", "low"): "1", ("0", "high"): "2", ("1", "look"): "1", ("1", "x"): "3", ("2", "y"): "3"}
    into = {
        "low": [one("low")],
        "high": [one("high")],
        "look": [LOOK],
        "x": [one("x", "x")],
        "y": [one("y", "y")],
    }
    automaton = made(delta, into, ["3"])
    assert automaton.loops["1 or 2"] == ("look",)
    assert tools(automaton) == {(RIGHT, "x"), (RIGHT, "y")}


def test_what_is_a_loop_in_one_and_a_step_in_the_other_is_a_step_and_keeps_both() -> None:
    delta = {("0", "low"): "1", ("0", "high"): "2", ("1", "look"): "1", ("2", "look"): "3", ("1", "x"): "4"}
    into = {"low": [one("low")], "high": [one("high")], "look": [LOOK], "x": [one("x", "x")]}
    automaton = made(delta, into, ["3", "4"])
    assert tools(automaton) == {(RIGHT, "look"), (RIGHT, "x"), (RIGHT, "look", "x")}


@st.composite
def chains(draw: st.DrawFn) -> tuple[dict[tuple[str, str], str], dict[str, list[Symbol]], list[str]]:
    """An automaton whose edges lead forwards, and what each of its symbols becomes."""
    rows = {
        name: [one(f"{name} {k}", tool) for k, tool in enumerate(draw(st.text("xy", min_size=1, max_size=3)))]
        for name in "abc"
    }
    delta = {
        (str(source), name): str(draw(st.integers(source + 1, 4)))
        for source in range(4)
        for name in draw(st.sets(st.sampled_from("abc")))
    }
    return delta, rows, draw(st.lists(st.sampled_from("01234"), min_size=1))


@given(chains())
def test_the_calls_that_are_accepted_are_those_of_the_golden_paths(
    drawn: tuple[dict[tuple[str, str], str], dict[str, list[Symbol]], list[str]],
) -> None:
    delta, rows, accepting = drawn
    symbols = [Symbol(name, name, {}) for name in rows]
    try:
        before = TaskAutomaton(
            states=[*"01234"], symbols=symbols, start="0", accepting=accepting, delta=delta
        )
    except AutomatonError:
        return
    wanted = {tuple(symbol.tool for name in path for symbol in rows[name]) for path in before.golden_paths()}
    assert tools(made(delta, rows, accepting)) == wanted
