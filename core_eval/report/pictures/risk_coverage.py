"""Risk against coverage: what each choice of `unknown` costs, of a twin's events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core_eval.log import HarmRow
from core_eval.report.pictures.plot import Plot, Scale

BANDS = ((0.5, 0.5), (0.4, 0.6), (0.3, 0.7), (0.2, 0.8), (0.1, 0.9), (0.05, 0.95))
"""Bounds of `unknown`; between the first, nothing is unknown."""
SIDE, LEFT, TOP, BELOW, RIGHT = 180.0, 46.0, 12.0, 40.0, 24.0


@dataclass(frozen=True, slots=True)
class Band:
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


def risk_coverage(events: Sequence[tuple[float, float]]) -> list[Band]:
    """Return the choices for events, each with the twin's probability and the true one.

    The true one is 0 or 1 where it is known; the twin's own gives the risk that it expects itself.
    """
    found = []
    for low, high in BANDS:
        told = [(said, true) for said, true in events if said <= low or said >= high]
        wrong = sum(1.0 - true if said >= high else true for said, true in told)
        share = len(told) / max(1, len(events))
        found.append(Band(low, high, len(told), share, wrong / len(told) if told else None))
    return found


def expected_choices(events: Iterable[HarmRow]) -> list[Band]:
    """Return what a twin expects of each choice, by its own probabilities; empty without any."""
    own = [event.probability for event in events if event.probability is not None]
    return risk_coverage([(chance, chance) for chance in own]) if own else []


def risk_svg(choices: Sequence[Band]) -> str:
    """Return the curve: share with a verdict across, share of these that is wrong up."""
    drawn = [(one, one.risk) for one in choices if one.risk is not None]
    top = max((0.1, *(risk for _, risk in drawn)))
    plot = Plot(
        "risk",
        "share of wrong verdicts by share of events with a verdict",
        LEFT + SIDE + RIGHT,
        TOP + SIDE + BELOW,
        Scale((0.0, 1.0), (LEFT, LEFT + SIDE)),
        Scale((0.0, top), (TOP + SIDE, TOP)),
    )
    plot.box()
    plot.axes(across=(0.0, 0.5, 1.0), up=(0.0, top / 2, top), words="{:.0%}".format, grid=False)
    plot.text(LEFT + SIDE / 2, TOP + SIDE + 32, "events with a verdict")
    plot.line([(one.coverage, risk) for one, risk in drawn], "line")
    for one, risk in drawn:
        words = f"{one.low:g} to {one.high:g}: {one.coverage:.0%} told, {risk:.0%} of these wrong"
        plot.dot((one.coverage, risk), "dot", 3.5, words)
    return plot.svg()


def band_words(one: Band) -> str:
    """Return the bounds of `unknown` in words."""
    return "never" if one.low == one.high else f"{one.low:g} to {one.high:g}"
