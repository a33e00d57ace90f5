"""Calls that are JSON without a mark: an object or a list that begins a line, perhaps in a code fence."""

from __future__ import annotations

import re
from typing import Any

from agents.formats.calls import ARGUMENT_KEYS, NAME_KEYS, Nonsense, Tools
from agents.formats.format import Found, too_many
from agents.formats.json_text import json_end, read_value, skip
from core_eval.text.foreign_json import ForeignJsonError, parse_json

BEGINS = re.compile(r"(?:^|(?<=```json)|(?<=;))[ \t]*(?=[\[{])", re.MULTILINE)
NAMES = re.compile(r"""["'](?:name|tool_name)["']\s*:""")


def read_bare_json(text: str, tools: Tools) -> list[Found]:
    """Return the calls in an answer. JSON that names no tool is an answer, and no call."""
    found: list[Found] = []
    place = 0
    while (start := _begin(text, place, found)) is not None and not too_many(found, text):
        end = json_end(text, start)
        if end is None:
            if NAMES.search(text, start):
                reason = "the call was not finished: its brackets are not closed"
                found.append(Found(start, len(text), Nonsense("unclosed", reason, text[start:].strip())))
            return found
        if _is_call(text[start:end], tools):
            found += [Found(start, end, item) for item in read_value(text[start:end])]
        place = end
    return found


def _begin(text: str, place: int, found: list[Found]) -> int | None:
    """Return where the next value begins: on a line of its own, or right behind a call."""
    if found and found[-1].end == place and text.startswith(("{", "["), behind := skip(text, place)):
        return behind
    begin = BEGINS.search(text, place)
    return begin.end() if begin else None


def _is_call(text: str, tools: Tools) -> bool:
    try:
        value = parse_json(text, strict_numbers=False, unique_keys=True)
    except ForeignJsonError:
        return NAMES.search(text) is not None
    records = value if isinstance(value, list) else [value]
    return bool(records) and all(_is_record(record, tools) for record in records)


def _is_record(record: Any, tools: Tools) -> bool:
    if not isinstance(record, dict):
        return False
    if isinstance(record.get("function"), dict):
        record = record["function"]
    name = next((record[key] for key in NAME_KEYS if key in record), None)
    return name is not None and (name in tools.names or any(key in record for key in ARGUMENT_KEYS))
