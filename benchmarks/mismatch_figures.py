"""The figures of `mismatch.py`: recall, precision, Brier score, calibration error, risk against coverage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.reliability_diagram import bins
from core_eval.report.pictures.risk_coverage import Band, risk_coverage
from core_eval.statistics.intervals import wilson

COUNTED, SURE = 0.5, 0.9
CHOICES = (0.5, 0.4, 0.3, 0.2)
"""Probabilities from which on an event may count."""


@dataclass(frozen=True)
class Told:
    """An event that is true, or told by a twin, or both; `probability` is the twin's.

    `place`: among the events of its kind and entity; `blame`: the share that the twin gives the right call.
    """

    twin: str
    episode: int
    kind: str
    entity: str
    place: int
    happened: bool
    probability: float
    blame: float = 0.0


@dataclass(frozen=True)
class Part:
    """A share of a number of events."""

    hits: int
    of: int

    def __str__(self) -> str:
        """Format it with its interval."""
        if not self.of:
            return "-"
        low, high = wilson(self.hits / self.of, self.of, 0.95)
        return f"{self.hits / self.of:.2f} ({low:.2f}-{high:.2f})"


@dataclass(frozen=True)
class Figures:
    """The quality of a set of records.

    Attributes:
        true: the number of events.
        recall, precision: as usual.
        expected_recall: the recall if each probability is right. What is missed beyond that was told wrongly;
            the rest is doubt, which only more telemetry takes away.
        right_call: of the true events that are told, those of which the right call is blamed.
        brier, calibration_error: of the probabilities.
        sure: of the verdicts above 0.9, those that are true.
    """

    true: int
    recall: Part
    expected_recall: float
    precision: Part
    right_call: Part
    brier: float
    calibration_error: float
    sure: Part


def figures(records: Sequence[Told]) -> Figures:
    """Return the figures of a set of records."""
    true = sum(one.happened for one in records)
    told = [one for one in records if one.probability >= COUNTED]
    both = sum(one.happened for one in told)
    sure = [one for one in records if one.probability > SURE]
    count = max(1, len(records))
    return Figures(
        true,
        Part(both, true),
        sum(one.probability for one in told) / max(1e-9, sum(one.probability for one in records)),
        Part(both, len(told)),
        Part(sum(one.blame >= COUNTED for one in told if one.happened), both),
        sum((one.probability - one.happened) ** 2 for one in records) / count,
        sum(size * abs(mean - share) for mean, share, size in bins(records)) / count,
        Part(sum(one.happened for one in sure), len(sure)),
    )


def identifiable(records: Sequence[Told], reference: Sequence[Told]) -> Part:
    """Return the recall of the true events that the reference tells; of none without a reference."""

    def key(one: Told) -> tuple[int, str, str, int]:
        return one.episode, one.kind, one.entity, one.place

    able = {key(one) for one in reference if one.happened and one.probability >= COUNTED}
    return Part(sum(one.probability >= COUNTED for one in records if key(one) in able), len(able))


def by_choice(records: Sequence[Told]) -> dict[float, tuple[Part, Part]]:
    """Return recall and precision for each probability from which on an event may count."""
    true = sum(one.happened for one in records)
    found = {}
    for least in CHOICES:
        told = [one for one in records if one.probability >= least]
        both = sum(one.happened for one in told)
        found[least] = Part(both, true), Part(both, len(told))
    return found


def by_rule(records: Sequence[Told]) -> dict[str, tuple[int, float, int, int]]:
    """Return for each rule how many events are true, true by their probabilities, found, and invented."""
    return {
        kind: (
            sum(one.happened for one in mine),
            sum(one.probability for one in mine),
            sum(one.happened for one in mine if one.probability >= COUNTED),
            sum(not one.happened for one in mine if one.probability >= COUNTED),
        )
        for kind in sorted({one.kind for one in records})
        for mine in [[one for one in records if one.kind == kind]]
    }


def told_choices(records: Sequence[Told]) -> list[Band]:
    """Return what each band of `unknown` costs."""
    return risk_coverage([(one.probability, float(one.happened)) for one in records])
