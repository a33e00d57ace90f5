"""Draws the choice of sensors as SVG: detected share of the harm by price."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

from core_eval.harm.detection.advice import Choice

WIDTH, HEIGHT = 720.0, 400.0
LEFT, RIGHT, TOP, BOTTOM = 56.0, 24.0, 48.0, 48.0
GREEDY, EXACT = "#b45309", "#0f766e"
LEAST_PRICE = 1.0
"""Prices are drawn on a logarithmic scale from this one on; 0 is beside it."""


def advice_svg(greedy: Sequence[Choice], exact: Sequence[Choice] | None, currency: str) -> str:
    """Return a drawing that stands alone or in a page."""
    most = max(10.0, *(one.cost for one in (*greedy, *(exact or ()))))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="advice" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" '
        'role="img" aria-label="detected share of the harm by the price of the sensors" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#374151">',
        f'<rect width="{WIDTH:.0f}" height="{HEIGHT:.0f}" fill="#ffffff"/>',
        *_axes(most, currency),
    ]
    if exact:
        parts += _line(exact, most, EXACT, named=True)
    parts += _line(greedy, most, GREEDY, named=not exact, dashed=bool(exact))
    for place, (words, colour) in enumerate((("exact choice", EXACT), ("greedy choice", GREEDY))):
        if exact or colour == GREEDY:
            x = LEFT + 150.0 * place
            parts.append(f'<path d="M{x} 22h24" stroke="{colour}" stroke-width="2"/>')
            parts.append(f'<text x="{x + 32}" y="26">{words}</text>')
    return "".join([*parts, "</svg>"])


def _line(
    choices: Sequence[Choice], most: float, colour: str, *, named: bool, dashed: bool = False
) -> list[str]:
    """Draw a staircase: what a price buys."""
    points = [(_x(one.cost, most), _y(one.detected)) for one in choices]
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    path += "".join(f"H{x:.1f}V{y:.1f}" for x, y in points[1:]) + f"H{WIDTH - RIGHT}"
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    parts = [f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>']
    for (x, y), one in zip(points, choices, strict=True):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}">')
        sensors = ", ".join(one.sensors) or "none"
        parts.append(f"<title>{escape(sensors)}: {one.detected:.0%}</title></circle>")
    if named:
        before: set[str] = set()
        for (x, y), one in zip(points, choices, strict=True):
            added = ", ".join(sensor for sensor in one.sensors if sensor not in before)
            before = set(one.sensors)
            if added:
                end = x > WIDTH / 2.0
                anchor = ' text-anchor="end"' if end else ""
                parts.append(
                    f'<text x="{x + (-8 if end else 8):.1f}" y="{y - 7:.1f}"{anchor}>+ {escape(added)}</text>'
                )
    return parts


def _axes(most: float, currency: str) -> list[str]:
    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _y(tick)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#e5e7eb"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:.0%}</text>')
    ticks = [0.0, *(10.0**power for power in range(5) if 10.0**power <= most)]
    for price in ticks:
        x = _x(price, most)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{price:,.0f}</text>')
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.1f}" y="{HEIGHT - 10}" text-anchor="middle">'
        f"price of the sensors, {escape(currency)}</text>"
    )
    parts.append(f'<text x="{WIDTH - RIGHT}" y="26" text-anchor="end">share of the harm detected</text>')
    return parts


def _x(price: float, most: float) -> float:
    first = LEFT + 30.0
    if price < LEAST_PRICE:
        return LEFT
    share = math.log(price / LEAST_PRICE) / math.log(most / LEAST_PRICE)
    return first + share * (WIDTH - RIGHT - first)


def _y(share: float) -> float:
    return TOP + (1.0 - share) * (HEIGHT - TOP - BOTTOM)
