"""Risk against coverage: what each choice of `unknown` costs, of a twin's events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core_eval.log import HarmRow
from core_eval.report.pictures.svg_parts import text

BANDS = ((0.5, 0.5), (0.4, 0.6), (0.3, 0.7), (0.2, 0.8), (0.1, 0.9), (0.05, 0.95))
"""Bounds of `unknown`; between the first, nothing is unknown."""
SIDE, LEFT, TOP, BELOW, RIGHT = 180.0, 46.0, 12.0, 40.0, 24.0


@dataclass(frozen=True, slots=True)
class Choice:
    """What a band of `unknown` does.

    Attributes:
        low, high: its bounds.
        told: how many events have a verdict.
        coverage: their share.
        risk: the share of the verdicts that is wrong; None without any.
    """

    low: float
    high: float
    told: int
    coverage: float
    risk: float | None


def risk_coverage(events: Sequence[tuple[float, float]]) -> list[Choice]:
    """Return the choices for events, each with the twin's probability and the true one.

    The true one is 0 or 1 where it is known; the twin's own gives the risk that it expects itself.
    """
    found = []
    for low, high in BANDS:
        told = [(said, true) for said, true in events if said <= low or said >= high]
        wrong = sum(1.0 - true if said >= high else true for said, true in told)
        share = len(told) / max(1, len(events))
        found.append(Choice(low, high, len(told), share, wrong / len(told) if told else None))
    return found


def expected_choices(events: Iterable[HarmRow]) -> list[Choice]:
    """Return what a twin expects of each choice, by its own probabilities; empty without any."""
    own = [event.probability for event in events if event.probability is not None]
    return risk_coverage([(chance, chance) for chance in own]) if own else []


def risk_svg(choices: Sequence[Choice]) -> str:
    """Return the curve: share with a verdict across, share of these that is wrong up."""
    drawn = [(one, one.risk) for one in choices if one.risk is not None]
    top = max((0.1, *(risk for _, risk in drawn)))
    points = [(LEFT + one.coverage * SIDE, TOP + (1.0 - risk / top) * SIDE) for one, risk in drawn]
    parts = [
        f'<svg class="risk" viewBox="0 0 {LEFT + SIDE + RIGHT:.0f} {TOP + SIDE + BELOW:.0f}" role="img" '
        'aria-label="share of wrong verdicts by share of events with a verdict">',
        f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}"/>',
    ]
    for tick in (0.0, 0.5, 1.0):
        parts.append(text(LEFT + tick * SIDE, TOP + SIDE + 15, f"{tick:.0%}", "tick"))
        parts.append(text(LEFT - 5, TOP + (1.0 - tick) * SIDE + 4, f"{tick * top:.0%}", "tick", "end"))
    parts.append(text(LEFT + SIDE / 2, TOP + SIDE + 32, "events with a verdict", "tick"))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts.append(f'<polyline class="line" points="{line}"/>')
    for (x, y), (one, risk) in zip(points, drawn, strict=True):
        words = f"{one.low:g} to {one.high:g}: {one.coverage:.0%} told, {risk:.0%} of these wrong"
        parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5"><title>{words}</title></circle>')
    return "".join([*parts, "</svg>"])


def band_words(one: Choice) -> str:
    """Return the bounds of `unknown` in words."""
    return "never" if one.low == one.high else f"{one.low:g} to {one.high:g}"
