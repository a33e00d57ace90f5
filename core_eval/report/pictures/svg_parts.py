"""Parts of inline SVG that several drawings of the report share."""

from __future__ import annotations

import math
from xml.sax.saxutils import escape

from core_eval.text.visible_text import visible

STEPS = (1.0, 2.0, 5.0, 10.0)


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about `count` round numbers within a range."""
    span = high - low
    size = 10.0 ** math.floor(math.log10(span / count))
    step = next(factor * size for factor in STEPS if span / (factor * size) <= count)
    first = int(low // step) + 1
    return [round(k * step, 9) for k in range(first, int(high // step) + 1)]


def text(x: float | str, y: float, words: str, kind: str, anchor: str = "middle") -> str:
    """Return a line of text; `x` is in the drawing's units, or a percentage of its width."""
    at = x if isinstance(x, str) else f"{x:.1f}"
    return f'<text class="{kind}" x="{at}" y="{y:.1f}" text-anchor="{anchor}">{escape(visible(words))}</text>'


def short_number(value: float) -> str:
    """Return a number with four digits."""
    return f"{value:.4g}"
