"""Keep marks of thoughts and turns that stand in a call's arguments from parting the answer.

A plant may be called `x</think>`. Such marks are replaced before the answer is parted, and put back
in what was read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import count
from typing import Any

from agents.formats.calls import CallText, Tools, to_json
from agents.formats.known_marks import known_marks
from agents.formats.registry import formats

SIGN = "\ufdd1"
"""A character that Unicode keeps for uses within a program."""
REPLACED = re.compile(f"{SIGN}(\\d+){SIGN}")
MOST = 64
"""Marks of an answer that are looked at."""


def replace_argument_marks(text: str, tools: Tools) -> tuple[str, list[str]]:
    """Return the text with a replacement for each mark in the arguments of a call, and all its marks."""
    marks = [mark.group() for mark in known_marks().parting.finditer(text)]
    if not 0 < len(marks) <= MOST or SIGN in text:
        return text, []
    replaced = _replaced(text, frozenset(range(len(marks))))
    # Some calls must begin the answer, which may be what follows a mark.
    starts = [0, *(found.end() for found in REPLACED.finditer(replaced))]
    held = {
        int(number)
        for start in starts
        for form in formats()
        for found in form.read(replaced[start:], tools)
        if isinstance(found.item, CallText)
        for number in REPLACED.findall(to_json(dict(found.item.arguments)))
    }
    return (_replaced(text, frozenset(held)), marks) if held else (text, [])


def put_back(value: Any, marks: list[str]) -> Any:
    """Return a value, as a text or arguments, with its marks."""
    if isinstance(value, str):
        return value if not marks else REPLACED.sub(lambda found: marks[int(found[1])], value)
    if isinstance(value, Mapping):
        return {put_back(key, marks): put_back(entry, marks) for key, entry in value.items()}
    return [put_back(entry, marks) for entry in value] if isinstance(value, list) else value


def _replaced(text: str, held: frozenset[int]) -> str:
    numbers = count()

    def one(mark: re.Match[str]) -> str:
        number = next(numbers)
        return f"{SIGN}{number}{SIGN}" if number in held else mark.group()

    return known_marks().parting.sub(one, text)
