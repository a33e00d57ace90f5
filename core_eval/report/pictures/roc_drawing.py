"""Draws ROC curves as SVG, detected share against false-alarm rate: a panel a rule, a line a sensor set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from core_eval.harm.detection.roc import FALSE_ALARMS, Roc, mean_roc
from core_eval.log import HarmRow

PANEL, GAP, LEFT, TOP, BOTTOM = 190.0, 46.0, 44.0, 40.0, 40.0
COLUMNS = 3
LEGEND = 20.0
RATES = tuple(round(0.01 * k, 2) for k in range(101))
RIGHT = 14.0
COLOURS = ("#6b7280", "#0f766e", "#b45309", "#7c3aed", "#be123c", "#1d4ed8", "#4d7c0f", "#9d174d")
"""Of the lines, in the order of the sensor sets."""


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


def panel_svg(rule: RuleCurves, names: Sequence[str]) -> str:
    """Return the drawing of one rule; a page's styles may give the classes other colours."""
    width, height = LEFT + PANEL + RIGHT, PANEL + BOTTOM + 8.0
    words = ", ".join(f"{name} {dict(line)[FALSE_ALARMS]:.0%}" for name, line in rule.sets.items())
    return "".join(
        [
            f'<svg class="roc" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
            f'aria-label="detected at 5 % false alarms: {escape(words)}">',
            *_panel(rule, names, LEFT, 8.0, titled=False),
            "</svg>",
        ]
    )


def roc_svg(rules: Sequence[RuleCurves]) -> str:
    """Return a drawing that stands alone or in a page; the dotted line is the stated false-alarm rate."""
    names = set_names(rules)
    columns = min(COLUMNS, max(1, len(rules)))
    rows = -(-len(rules) // columns)
    width = LEFT + columns * (PANEL + GAP)
    top = TOP + LEGEND * len(names)
    height = top + rows * (PANEL + TOP + BOTTOM)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="roc" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" role="img" aria-label="detected share by false-alarm rate" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#374151">',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
    ]
    for place, name in enumerate(names):
        y = 22.0 + LEGEND * place
        parts.append(f'<path d="M{LEFT:.0f} {y - 4:.0f}h24" stroke="{_colour(place)}" stroke-width="2"/>')
        parts.append(f'<text x="{LEFT + 32:.0f}" y="{y:.0f}">{escape(name)}</text>')
    for place, rule in enumerate(rules):
        x = LEFT + (place % columns) * (PANEL + GAP)
        y = top + (place // columns) * (PANEL + TOP + BOTTOM) + 14.0
        parts += _panel(rule, names, x, y)
    return "".join([*parts, "</svg>"])


def _panel(rule: RuleCurves, names: Sequence[str], x: float, y: float, *, titled: bool = True) -> list[str]:
    title = f"{rule.kind.replace('_', ' ')} ({rule.events})"
    heading = f'<text x="{x:.0f}" y="{y - 8:.0f}" font-weight="600">{escape(title)}</text>'
    parts = [
        *([heading] if titled else []),
        f'<rect class="frame" x="{x}" y="{y}" width="{PANEL}" height="{PANEL}" fill="none" '
        'stroke="#9ca3af"/>',
        f'<path class="chance" d="M{x} {y + PANEL}L{x + PANEL} {y}" stroke="#d1d5db"/>',
        f'<path class="rate" d="M{x + FALSE_ALARMS * PANEL:.1f} {y}v{PANEL}" stroke="#9ca3af" '
        'stroke-dasharray="2 3"/>',
    ]
    for tick in (0.0, 0.5, 1.0):
        parts.append(
            f'<text x="{x + tick * PANEL:.1f}" y="{y + PANEL + 15:.1f}" text-anchor="middle">{tick:g}</text>'
        )
        parts.append(
            f'<text x="{x - 6:.1f}" y="{y + 4 + (1 - tick) * PANEL:.1f}" text-anchor="end">{tick:g}</text>'
        )
    parts.append(
        f'<text x="{x + PANEL / 2:.1f}" y="{y + PANEL + 31:.1f}" text-anchor="middle">false-alarm rate</text>'
    )
    parts.append(
        f'<text transform="translate({x - 28:.1f} {y + PANEL / 2:.1f}) rotate(-90)" '
        'text-anchor="middle">detected</text>'
    )
    for name, line in rule.sets.items():
        points = " ".join(f"{x + a * PANEL:.1f},{y + (1.0 - b) * PANEL:.1f}" for a, b in line)
        colour = _colour(names.index(name))
        parts.append(
            f'<polyline class="set{names.index(name) % len(COLOURS)}" points="{points}" fill="none" '
            f'stroke="{colour}" stroke-width="2"/>'
        )
    return parts


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]
