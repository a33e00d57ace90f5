"""Writes JSON text that every reader accepts."""

from __future__ import annotations

import json
import math
from typing import Any

from core_eval.text.visible_text import visible


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Return JSON text. What UTF-8 or a terminal cannot take is escaped; NaN and infinities become null."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
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
