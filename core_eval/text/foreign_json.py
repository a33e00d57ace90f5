"""Reads foreign JSON (from models, devices, servers, files, logs) in one place, with one error type."""

from __future__ import annotations

import json
import math
from typing import Any

MAX_DEPTH = 100
"""Maximum nesting. Neither a task nor a call needs more; `json` itself is limited by Python's stack."""
MAX_DIGITS = 4300
"""Maximum digits of an integer: Python's own limit, since the time grows quadratically."""


class ForeignJsonError(ValueError):
    """Text that is not usable as JSON; one line that gives the reason."""


def parse_json(
    text: str | bytes,
    *,
    max_bytes: int | None = None,
    strict_numbers: bool = True,
    unique_keys: bool = False,
) -> Any:
    """Parse a JSON text, within limits on its size, its depth and its numbers.

    Args:
        text: the JSON text, or its UTF-8 bytes; a byte order mark before it is skipped.
        max_bytes: refuse a longer text (characters where `text` is `str`); None: no limit.
        strict_numbers: refuse NaN, Infinity and numbers beyond all floats (1e400), which other readers
            reject.
        unique_keys: refuse an object that gives a key twice; else the last one counts.

    Raises:
        ForeignJsonError: for every fault, nesting and numbers included; nothing else is raised.
    """
    if max_bytes is not None and len(text) > max_bytes:
        raise ForeignJsonError(f"longer than {max_bytes} bytes")
    try:
        string = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        raise ForeignJsonError(f"not UTF-8 text: byte {error.start} does not fit") from None
    string = string.removeprefix("\ufeff")
    try:
        value = _DECODERS[strict_numbers, unique_keys].decode(string)
    except json.JSONDecodeError as error:
        raise ForeignJsonError(f"no JSON: {error}") from None
    except RecursionError:
        raise ForeignJsonError(f"nested deeper than {MAX_DEPTH} levels") from None
    except ForeignJsonError:
        raise
    except ValueError:
        # The decoder's only other ValueError: Python's limit on the digits of an integer.
        raise ForeignJsonError(f"a whole number of more than {MAX_DIGITS} digits") from None
    # As deep as there are brackets, at most: few texts have to be walked.
    if string.count("{") + string.count("[") > MAX_DEPTH:
        check_depth(value)
    return value


def _refuse_constant(name: str) -> Any:
    raise ForeignJsonError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ForeignJsonError("a number beyond all floats")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ForeignJsonError(f"{next(key for key in keys if keys.count(key) > 1)!r} is given twice")
    return value


def check_depth(value: Any) -> None:
    """Check the value level by level, without recursion.

    Raises:
        ForeignJsonError: it is nested too deep.
    """
    level: list[Any] = [[value]]
    for _ in range(MAX_DEPTH + 1):
        level = [
            item
            for holder in level
            for item in (holder.values() if isinstance(holder, dict) else holder)
            if item.__class__ in _HOLDERS
        ]
        if not level:
            return
    raise ForeignJsonError(f"nested deeper than {MAX_DEPTH} levels")


_HOLDERS = frozenset({dict, list})
"""The classes of parsed values that hold others."""
_DECODERS = {
    (strict, unique): json.JSONDecoder(
        parse_constant=_refuse_constant if strict else None,
        parse_float=_finite if strict else None,
        object_pairs_hook=_once if unique else None,
    )
    for strict in (False, True)
    for unique in (False, True)
}
"""By whether numbers are strict, and whether keys are unique: to make one takes as long as to read a line."""
