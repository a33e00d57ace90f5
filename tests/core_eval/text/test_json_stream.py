import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_eval.text.foreign_json import ForeignJsonError
from core_eval.text.json_stream import read_items

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=3), inside, max_size=3),
    max_leaves=8,
)


def cut(text: str, size: int) -> Iterator[bytes]:
    data = text.encode(errors="surrogatepass")
    return (data[place : place + size] for place in range(0, len(data), size))


def whole(text: str, size: int) -> Any:
    pieces = list(read_items(cut(text, size)))
    if text.lstrip()[:1] == "[":
        return [piece.value for piece in pieces]
    if text.lstrip()[:1] != "{":
        return pieces[0].value
    found: dict[str, Any] = {}
    for key, value, of_list in pieces:
        assert key is not None
        if of_list:
            found.setdefault(key, []).append(value)
        else:
            found[key] = value
    return found


@settings(max_examples=60, deadline=None)
@given(VALUES, st.integers(1, 9), st.sampled_from([None, 1]))
def test_the_pieces_are_those_of_the_document(value: Any, size: int, indent: int | None) -> None:
    assert whole(json.dumps(value, indent=indent, ensure_ascii=False), size) == value


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"a": [1, 2}', "in place of ',' at character 11"),
        ('{"a": tru}', "Expecting value at character 6"),
        ('{"a": 1', "the end in place of ','"),
        ('[1] "x"', "more text after the document, at character 4"),
        ('{1: 2}', "1 in place of a key"),
        ("[" + "[" * 200 + "]" * 201, "nested deeper than 100 levels"),
        ("[" + "[" * 50_000, "nested deeper than 100 levels"),
        ("[" + "9" * 5000 + "]", "a whole number of more than 4300 digits"),
        ("", "Expecting value at character 0"),
        ('["\\u12', "Invalid"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(text: str, fault: str) -> None:
    for size in (1 << 16, 7):
        with pytest.raises(ForeignJsonError) as told:
            list(read_items(cut(text, size)))
        assert fault in str(told.value) and "\n" not in str(told.value)


def test_what_is_before_a_fault_holds() -> None:
    pieces = []
    with pytest.raises(ForeignJsonError, match="no JSON"):
        pieces.extend(read_items([b'{"a": [1, {"b": 2}, x]}']))
    found = read_items([b'{"a": [1, {"b": 2}, x]}'])
    assert [next(found).value, next(found).value] == [1, {"b": 2}]


def test_bytes_that_are_no_text_are_told() -> None:
    with pytest.raises(ForeignJsonError, match="not UTF-8 text after character"):
        list(read_items([b'["\xff"]']))


def test_memory_is_that_of_a_piece() -> None:
    record = json.dumps({"text": "x" * 10_000}).encode()
    tracemalloc.start()
    count = 0
    document = ((b"[" if not n else b",") + record for n in range(3_000))
    for _ in read_items(chunk for source in (document, [b"]"]) for chunk in source):
        count += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 3_000
    assert peak < 2_000_000, "of 30 MB"
