"""Drawings of how well telemetry shows harm: ROC curves, and what sensors would add."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core_eval.harm.detection.advice import Choice
from core_eval.harm.detection.detect import FALSE_ALARMS, Roc, mean_roc
from core_eval.log import HarmRow
from core_eval.report.pictures.plot import Plot, Scale
from core_eval.report.pictures.standalone import standalone

PANEL, LEFT, RIGHT, TOP, BOTTOM = 190.0, 60.0, 14.0, 8.0, 40.0
COLUMNS = 3
LEGEND, TITLE = 20.0, 24.0
RATES = tuple(round(0.01 * k, 2) for k in range(101))
COLOURS = 8
"""Classes of the lines, in the order of the sensor sets."""


@dataclass(frozen=True, slots=True)
class RuleCurves:
    """The curves of one harm rule: the mean over its events, by sensor set."""

    kind: str
    events: int
    sets: Mapping[str, Sequence[tuple[float, float]]]


def curves_by_rule(events: Sequence[tuple[str, Mapping[str, Roc]]]) -> list[RuleCurves]:
    """Return the mean curves of each rule; `events` holds the rule and the curve of each sensor set."""
    kinds: dict[str, list[Mapping[str, Roc]]] = {}
    for kind, sets in events:
        kinds.setdefault(kind, []).append(sets)
    return [
        RuleCurves(kind, len(own), {name: mean_roc([one[name] for one in own], RATES) for name in own[0]})
        for kind, own in sorted(kinds.items())
    ]


def logged_curves(events: Iterable[HarmRow]) -> list[RuleCurves]:
    """Return the mean curves of each rule, of those events whose curves the log holds."""
    return curves_by_rule(
        [
            (event.kind, {name: Roc(tuple((a, b) for a, b in line)) for name, line in event.roc.items()})
            for event in events
            if event.roc
        ]
    )


def set_names(rules: Iterable[RuleCurves]) -> list[str]:
    """Return the sensor sets of these rules, in their order."""
    return list(dict.fromkeys(name for rule in rules for name in rule.sets))


def panel_svg(rule: RuleCurves, names: Sequence[str], place: str = "") -> str:
    """Return the drawing of one rule; `place` are attributes of a drawing within another one."""
    words = ", ".join(f"{name} {dict(line)[FALSE_ALARMS]:.0%}" for name, line in rule.sets.items())
    plot = Plot(
        "roc",
        f"detected at 5 % false alarms: {words}",
        LEFT + PANEL + RIGHT,
        TOP + PANEL + BOTTOM,
        Scale((0.0, 1.0), (LEFT, LEFT + PANEL)),
        Scale((0.0, 1.0), (TOP + PANEL, TOP)),
    )
    plot.box()
    plot.line([(0.0, 0.0), (1.0, 1.0)], "chance")
    plot.line([(FALSE_ALARMS, 0.0), (FALSE_ALARMS, 1.0)], "rate")
    plot.axes(across=(0.0, 0.5, 1.0), up=(0.0, 0.5, 1.0), words="{:g}".format, grid=False)
    plot.text(LEFT + PANEL / 2, TOP + PANEL + 31, "false-alarm rate")
    plot.text(4, TOP + PANEL / 4, "detected", anchor="start")
    for name, line in rule.sets.items():
        plot.line(line, f"line set{names.index(name) % COLOURS}")
    return plot.svg(place)


def roc_svg(rules: Sequence[RuleCurves]) -> str:
    """Return an SVG file with the curves of all rules; the dotted line is the stated false-alarm rate."""
    names = set_names(rules)
    columns = min(COLUMNS, max(1, len(rules)))
    wide, high = LEFT + PANEL + RIGHT, TOP + PANEL + BOTTOM + TITLE
    below = LEGEND * (len(names) + 1)
    width, height = columns * wide, below + -(-len(rules) // columns) * high
    plot = Plot("roc", "detected share by false-alarm rate", width, height, Scale((0.0, 1.0), (0.0, width)))
    for place, name in enumerate(names):
        y = LEGEND * (place + 1)
        plot.add(f'<path class="line set{place % COLOURS}" d="M{LEFT:.0f} {y - 4:.0f}h24"/>')
        plot.text(LEFT + 32, y, name, anchor="start")
    for place, rule in enumerate(rules):
        x, y = place % columns * wide, below + place // columns * high
        plot.text(x + LEFT, y + TITLE - 8, f"{rule.kind.replace('_', ' ')} ({rule.events})", "title", "start")
        at = f' x="{x:.0f}" y="{y + TITLE:.0f}" width="{wide:.0f}" height="{high - TITLE:.0f}"'
        plot.add(panel_svg(rule, names, at))
    return standalone(plot.svg(), (width, height))


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
