"""JSON from outside ends as a value or as one error, whatever it is."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_eval.text.foreign_json import MAX_DEPTH, MAX_DIGITS, ForeignJsonError, parse_json

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_what_json_can_say_comes_back(value):
    assert parse_json(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[" * 100_000, "nested"),
        ('{"a":' * 5_000 + "1" + "}" * 5_000, "nested"),
        ("9" * (MAX_DIGITS + 1), "digits"),
        ("NaN", "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ("[1e400]", "beyond all floats"),
        ("{", "no JSON"),
        ("", "no JSON"),
        (b"\xff{}", "UTF-8"),
    ],
)
def test_what_cannot_be_used_is_one_error(text, word):
    with pytest.raises(ForeignJsonError, match=word) as caught:
        parse_json(text)
    assert "\n" not in str(caught.value)


@given(st.text() | st.binary())
def test_nothing_else_is_raised(text):
    with contextlib.suppress(ForeignJsonError):
        parse_json(text)


def test_the_deepest_nesting_that_is_taken():
    assert parse_json("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    with pytest.raises(ForeignJsonError):
        parse_json("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))


def test_bounds_that_the_caller_chooses():
    assert parse_json("[1]", max_bytes=3) == [1]
    with pytest.raises(ForeignJsonError, match="longer than 2"):
        parse_json("[1]", max_bytes=2)
    assert parse_json("[1e400]", strict_numbers=False) == [float("inf")]


def test_a_byte_order_mark_is_skipped():
    assert parse_json(b"\xef\xbb\xbf[1]") == [1]


def test_a_key_given_twice_counts_once_or_is_refused():
    text = '{"a": [{"b": 1, "c": 2, "b": 3}]}'
    assert parse_json(text) == {"a": [{"b": 3, "c": 2}]}
    with pytest.raises(ForeignJsonError, match="'b' is given twice"):
        parse_json(text, unique_keys=True)
