"""Patterns, symbols, and which symbol a call is."""

from __future__ import annotations

import pytest

from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call
from core_eval.path.patterns import Anything, Exact, Excluded, Near, OneOf, Range, may_overlap, parse_pattern
from core_eval.path.symbols import ANY_ARGUMENTS, Symbol
from core_eval.text.values import same_value

PLAIN = [
    ("a", Exact("a")),
    ({"exact": {"x": 1}}, Exact({"x": 1})),
    ({"any": True}, Anything()),
    ({"not": ["a", 2]}, Excluded(("a", 2))),
    ({"near": 2.0, "abs": 0.5}, Near(2.0, 0.5)),
    ({"near": 2.0, "rel": 0.1}, Near(2.0, 0.1, relative=True)),
    ({"min": 1}, Range(1, None)),
    ({"min": 1, "max": 3}, Range(1, 3)),
    ({"in": ["a", "b"]}, OneOf(("a", "b"))),
]


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (14, 14.0, True),
        (True, 1, False),
        (0, False, False),
        (True, True, True),
        ([1, {"a": [2.0]}], [1.0, {"a": [2]}], True),
        ([1, {"a": [True]}], [1, {"a": [1]}], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1, 2], [2, 1], False),
        ([], {}, False),
        (None, False, False),
        ("1", 1, False),
    ],
)
def test_values_compare_by_value_and_type(left, right, same):
    assert same_value(left, right) is same
    assert same_value(right, left) is same


@pytest.mark.parametrize(
    ("pattern", "fits", "misfits"),
    [
        (Exact(1), [1, 1.0], [True, "1", 2, None]),
        (Exact("a"), ["a"], ["b", 1, None, ["a"]]),
        (Excluded(("a", 1)), ["b", True, None, 2], ["a", 1.0]),
        (Excluded(()), [None, 0], []),
        (Anything(), [None, 1, "x"], []),
        (Near(1.0, 0.1), [1.1, 0.9, 1], [1.11, True, "1", None]),
        (Near(-2.0, 0.5, relative=True), [-3, -1], [-3.01, 0]),
        # What is written in decimals: 0.8 - 0.1 is 0.7000000000000001 in binary.
        (Near(0.8, 0.1), [0.7, 0.9], [0.699999999999, 0.900000000001]),
        (Near(1.1, 0.1, relative=True), [0.99, 1.21], [0.989999999999, 1.210000000001]),
        (Near(12345678901234567, 0), [12345678901234567], [12345678901234568]),
        (Near(0.0, float("inf")), [1e308], []),
        (Near(0.0, float("inf"), relative=True), [], [1.0]),
        (Range(None, 3), [-100, 3.0], [3.1, False, "2"]),
        (OneOf((1, "b", [2])), [1.0, "b", [2.0]], [True, "c", 2]),
    ],
)
def test_what_a_pattern_takes(pattern, fits, misfits):
    assert [value for value in fits if not pattern.holds(value)] == []
    assert [value for value in misfits if pattern.holds(value)] == []
    assert parse_pattern(pattern.plain()) == pattern


@pytest.mark.parametrize(("written", "pattern"), PLAIN)
def test_patterns_as_a_plan_writes_them(written, pattern):
    assert parse_pattern(written) == pattern
    if not isinstance(pattern, Anything):
        assert pattern.holds(pattern.example())


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"x": 1},
        {"near": 1},
        {"near": 1, "abs": -1},
        {"near": "a", "abs": 1},
        {"near": 1, "abs": 1, "rel": 1},
        {"min": 3, "max": 1},
        {"min": True},
        {"in": []},
        {"not": "a"},
        {"any": False},
    ],
)
def test_what_is_no_pattern(written):
    with pytest.raises(ValueError, match=r"write|must be|needs"):
        parse_pattern(written)


@pytest.mark.parametrize("values", [(), (3, 9.5), ("a",), ("x", 1), (None,), (True,)])
def test_example_of_an_excluding_pattern_fits(values):
    pattern = Excluded(values)
    assert pattern.holds(pattern.example())


@pytest.mark.parametrize(
    ("left", "right", "overlap"),
    [
        (Exact(1), Exact(1.0), True),
        (Exact(1), Exact(2), False),
        (Exact(1), Excluded((1,)), False),
        (Excluded((1,)), Exact(2), True),
        (Near(1.0, 0.1), Range(1.1, None), True),
        (Near(1.0, 0.1), Range(1.2, None), False),
        (OneOf(("a", "b")), Excluded(("a", "b")), False),
        (OneOf(("a", "b")), Exact("b"), True),
        (Excluded(("a",)), Anything(), True),
    ],
)
def test_overlap(left, right, overlap):
    assert may_overlap(left, right) is overlap
    assert may_overlap(right, left) is overlap


def test_a_symbol_without_patterns_takes_no_arguments():
    symbol = Symbol("home", "home", {})
    assert symbol.matches(Call("home", {}))
    assert not symbol.matches(Call("home", {"x": 1}))
    assert not symbol.matches(Call("Home", {}))


def test_arguments_that_no_pattern_names_are_ignored():
    symbol = Symbol("go", "go", {"x": Exact(1), "y": Anything(), "z": Excluded((0,))})
    assert symbol.matches(Call("go", {"x": 1, "z": 5, "speed": 9}))
    assert not symbol.matches(Call("go", {"x": 1, "z": 0}))
    assert not symbol.matches(Call("go", {"x": 1})), "an excluding pattern's argument must be there"
    assert not symbol.matches(Call("go", {"z": 5}))
    assert symbol.matches(Call("go", symbol.example()))
    assert "y" not in symbol.example()


def test_a_free_read_takes_any_arguments():
    symbol = Symbol("look(*)", "look", {ANY_ARGUMENTS: Anything()})
    assert symbol.matches(Call("look", {}))
    assert symbol.matches(Call("look", {"at": [1, 2]}))
    assert symbol.example() == {}


def with_symbols(*symbols):
    return TaskAutomaton(
        states=["p", "q"],
        symbols=symbols,
        start="p",
        accepting=["q"],
        delta={("p", symbol.name): "q" for symbol in symbols},
    )


def test_the_most_specific_symbol_wins():
    anywhere = Symbol("anywhere", "go", {"x": Anything()})
    not_one = Symbol("not one", "go", {"x": Excluded((1,))})
    two = Symbol("two", "go", {"x": Exact(2)})
    two_fast = Symbol("two fast", "go", {"x": Exact(2), "v": Range(1, None)})
    automaton = with_symbols(anywhere, not_one, two, two_fast)

    def found(**arguments):
        return automaton.symbol_of(Call("go", arguments))

    assert found(x=1) == "anywhere"
    assert found(x=3) == "not one"
    assert found(x=2) == "two"
    assert found(x=2, v=5) == "two fast"
    assert found() == "anywhere"
    assert automaton.symbol_of(Call("fly", {})) is None
    assert automaton.warnings == ()


def test_a_tie_goes_to_the_first_in_file_order():
    first = Symbol("first", "go", {"x": Exact(1)})
    second = Symbol("second", "go", {"y": Exact(1)})
    automaton = with_symbols(first, second)
    assert automaton.symbol_of(Call("go", {"x": 1, "y": 1})) == "first"
    (warning,) = automaton.warnings
    assert "'first' and 'second' can match the same call of 'go' equally well" in warning


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (Exact("a"), "=a"),
        (Exact(2.5), "=2.5"),
        (Anything(), "=*"),
        (Excluded(("a", 2)), "!=a|2"),
        (Near(2.0, 0.5), "~2.0"),
        (Range(1, None), "=1.."),
        (Range(None, 3), "=..3"),
        (Range(1, 3), "=1..3"),
        (OneOf(("a", "b")), "=a|b"),
    ],
)
def test_a_pattern_in_words(pattern, text):
    assert f"liters{pattern}" == f"liters{text}"


@pytest.mark.parametrize(
    "values", [("a",), ("a", "not a", "not not a"), (2, 7.5), (-3,), (True,), (None,), (), (7, "a")]
)
def test_the_example_of_what_excludes_is_of_the_same_sort_and_fits(values):
    pattern = Excluded(values)
    example = pattern.example()
    assert pattern.holds(example)
    assert isinstance(example, (int, float) if not values or type(values[0]) in (int, float) else str)
