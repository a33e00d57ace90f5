"""Draws the choice of sensors as SVG: detected share of the harm by price."""

from __future__ import annotations

import math
from collections.abc import Sequence

from core_eval.harm.detection.advice import Choice
from core_eval.report.pictures.plot import Plot, Scale
from core_eval.report.pictures.standalone import standalone

WIDTH, HEIGHT = 720.0, 400.0
LEFT, RIGHT, TOP, BOTTOM = 56.0, 24.0, 48.0, 48.0
FREE = -0.15
"""Prices are drawn by their logarithm from 1 on; 0 is beside it, here."""


def advice_svg(greedy: Sequence[Choice], exact: Sequence[Choice] | None, currency: str) -> str:
    """Return an SVG file."""
    most = max(10.0, *(one.cost for one in (*greedy, *(exact or ()))))
    plot = Plot(
        "advice",
        "detected share of the harm by the price of the sensors",
        WIDTH,
        HEIGHT,
        Scale((FREE, math.log10(most)), (LEFT, WIDTH - RIGHT)),
        Scale((0.0, 1.0), (HEIGHT - BOTTOM, TOP)),
    )
    prices = [0.0, *(10.0**power for power in range(5) if 10.0**power <= most)]
    plot.axes(up=(0.0, 0.25, 0.5, 0.75, 1.0), words="{:.0%}".format)
    for price in prices:
        plot.text(plot.x(_across(price)), HEIGHT - BOTTOM + 18, f"{price:,.0f}")
    plot.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, f"price of the sensors, {currency}")
    plot.text(WIDTH - RIGHT, 26, "share of the harm detected", anchor="end")
    drawn = [("exact", exact), ("greedy other" if exact else "greedy", greedy)]
    for place, (kind, choices) in enumerate((kind, own) for kind, own in drawn if own):
        x = LEFT + 150.0 * place
        plot.add(f'<path class="{kind}" d="M{x} 22h24"/>')
        plot.text(x + 32, 26, f"{kind.partition(' ')[0]} choice", anchor="start")
        points = [(_across(one.cost), one.detected) for one in choices]
        plot.line(points, kind, hold=True, to_edge=True)
        for point, one in zip(points, choices, strict=True):
            told = f"{', '.join(one.sensors) or 'none'}: {one.detected:.0%}"
            plot.dot(point, f"dot {kind.partition(' ')[0]}", 3.5, told)
            plot.labels.keep_clear(*plot.at(point), 4.0)
    _names(plot, exact or greedy)
    return standalone(plot.svg(), (WIDTH, HEIGHT))


def _names(plot: Plot, choices: Sequence[Choice]) -> None:
    """Write at each step which sensors it adds."""
    before: set[str] = set()
    for one in choices:
        added = ", ".join(sensor for sensor in one.sensors if sensor not in before)
        before = set(one.sensors)
        if added:
            x, y = plot.at((_across(one.cost), one.detected))
            plot.add(plot.labels.add(x, y, f"+ {added}", "name", 4.0))


def _across(price: float) -> float:
    return math.log10(price) if price >= 1.0 else FREE
