"""Writes JSON text that SQLite accepts, whatever a model wrote."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from core_eval.text.json_text import finite

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
