"""Read JSON values that stand within other words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from agents.formats.calls import Item, Nonsense, read_record
from core_eval.text.foreign_json import ForeignJsonError, parse_json

_STRUCTURE = re.compile(r'[{}\[\]]|"(?:[^"\\]|\\.)*"?', re.DOTALL)
BETWEEN = re.compile(r"(?:\s|[,;]|```(?:json)?)*")
"""What may stand before, between and after JSON values."""
ReadRecord = Callable[[Any, str], Item]


def json_end(text: str, start: int) -> int | None:
    """Return where the object or list that begins at `start` ends; None if it does not."""
    return closed_at(_STRUCTURE.finditer(text, start))


def closed_at(marks: Iterable[re.Match[str]]) -> int | None:
    """Return where the first of these brackets, among strings, is closed; None if it is not."""
    depth = 0
    for mark in marks:
        sign = mark.group()
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0 and sign in ")]}":
            return mark.end()
    return None


def skip(text: str, start: int) -> int:
    """Return the place after white space, separators and code fences."""
    match = BETWEEN.match(text, start)
    return match.end() if match else start


def read_value(text: str, read: ReadRecord = read_record) -> list[Item]:
    """Return the calls in one JSON value: an object, or a list of them."""
    try:
        # Numbers beyond all floats are for the device's schema to refuse, by the argument's name.
        value = parse_json(text, strict_numbers=False, unique_keys=True)
    except ForeignJsonError as error:
        return [not_json(text, str(error))]
    if isinstance(value, list):
        if not value:
            return [Nonsense("no_name", "the list of calls is empty", text)]
        return [read(record, text) for record in value]
    return [read(value, text)]


def not_json(text: str, error: str) -> Nonsense:
    """Return what a call that does not parse is."""
    return Nonsense("bad_json", f"the call is not JSON: {error.removeprefix('no JSON: ')}", text.strip())
