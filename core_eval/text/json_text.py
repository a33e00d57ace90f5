"""Writes JSON text that every reader, or SQLite, accepts, whatever a model wrote."""

from __future__ import annotations

import json
import math
from functools import partial
from typing import Any

from core_eval.text.visible_text import visible

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Return JSON text. What UTF-8 or a terminal cannot take is escaped; NaN and infinities become null."""
    try:
        text = (
            _ENCODER.encode(value)
            if indent is None
            else json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
        )
    except ValueError:
        text = json.dumps(finite(value), ensure_ascii=False, allow_nan=False, indent=indent)
    return visible(text, "\n")


def finite(value: Any) -> Any:
    """Return a JSON-ready value with null for each NaN and infinity, which JSON lacks."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


_dumps = partial(json.dumps, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def to_json(value: Any) -> str:
    """Compact JSON. NaN and infinities become null; text that UTF-8 cannot hold is escaped."""
    try:
        text = _dumps(value)
    except ValueError:
        text = _dumps(finite(value))
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _dumps(finite(value), ensure_ascii=True)
    return text


def as_logged(value: Any) -> Any:
    """Return the value as it comes back from the log, so that live and later scores agree."""
    return json.loads(to_json(value))


def plain_text(text: str) -> str:
    """Return the text with characters replaced that UTF-8 cannot encode."""
    return text.encode(errors="replace").decode()
