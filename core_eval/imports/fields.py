"""Reads the fields of foreign records; a field of another kind is a fault that names its key."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from core_eval.text.foreign_json import ForeignJsonError, parse_json
from core_eval.text.json_text import to_json

TEXT_PARTS = ("text", "content", "input_text", "output_text", "refusal", "reasoning")
"""The keys of a part of a message that hold its text."""
LAST_SECOND = 253_402_300_799.0
"""Of the year 9999, UTC epoch, s."""


class RecordError(ValueError):
    """A record that is not of its format; one line that names the key."""


def mapping(record: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a member that is an object; empty where it is missing or null."""
    return _of_kind(record, key, Mapping, "an object") or {}


def listed(record: Mapping[str, Any], key: str) -> Sequence[Any]:
    """Return a member that is a list; empty where it is missing or null."""
    return _of_kind(record, key, list, "a list") or []


def objects(record: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return a member that is a list of objects; empty where it is missing or null."""
    items = listed(record, key)
    for place, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise RecordError(f"{key}[{place}] must be an object, not {kind(item)}")
    return list(items)


def name(record: Mapping[str, Any], *keys: str) -> str | None:
    """Return the first of these members that is there as text: a text or a whole number."""
    for key in keys:
        value = record.get(key)
        if value is not None:
            if isinstance(value, bool) or not isinstance(value, str | int):
                raise RecordError(f"{key!r} must be a text or a whole number, not {kind(value)}")
            return str(value)
    return None


def needed_name(record: Mapping[str, Any], key: str, where: str = "") -> str:
    """Return a member that must be there as text."""
    found = name(record, key)
    if not found:
        raise RecordError(f"{where}{key!r} is missing")
    return found


def number(value: Any) -> float | None:
    """Return a finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def whole_number(value: Any) -> int | None:
    """Return a whole number; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def count(value: Any) -> int | None:
    """Return a whole number from 0 that a column of SQLite holds; None for anything else."""
    found = number(value)
    return int(found) if found is not None and 0 <= found < 2**63 and found == int(found) else None


def moment(value: Any) -> float | None:
    """Return a time as UTC epoch, s: of an ISO text, or a number of seconds; None for anything else.

    An ISO text without a zone is taken as UTC.
    """
    found = number(value)
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value)
            found = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    return found if found is not None and 0.0 <= found <= LAST_SECOND else None


def words(content: Any) -> str:
    """Return the text of a message's content: a text, or parts, whose pictures and sounds are left out."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(words, content)))
    if isinstance(content, Mapping):
        for key in TEXT_PARTS:
            if isinstance(content.get(key), str):
                return str(content[key])
        return "" if isinstance(content.get("type"), str) else to_json(content)
    return to_json(content)


def parsed(content: Any) -> Any:
    """Return what a text is as JSON, where it is an object or a list; anything else as it is."""
    if isinstance(content, str) and content.lstrip()[:1] in ("{", "["):
        try:
            return parse_json(content, strict_numbers=False)
        except ForeignJsonError:
            return content
    return content


def kind(value: Any) -> str:
    """Return the name of a value's kind in JSON."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    names = {str: "a text", list: "a list", dict: "an object", int: "a number", float: "a number"}
    return names.get(type(value), "something else")


def _of_kind(record: Mapping[str, Any], key: str, wanted: Any, words: str) -> Any:
    value = record.get(key)
    if value is not None and not isinstance(value, wanted):
        raise RecordError(f"{key!r} must be {words}, not {kind(value)}")
    return value
