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
        text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, indent=indent)
    return visible(text, "\n")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
