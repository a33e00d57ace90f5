"""Draws ROC curves as SVG, detected share against false-alarm rate: a panel a rule, a line a sensor set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core_eval.harm.detection.roc import FALSE_ALARMS, Roc, mean_roc
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
