"""Whether a harm event counts, and its verdict in a word: thresholds on probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core_eval.log.rows import HarmRow, Observation

NOT_COUNTED = "not counted"
COUNTED = 0.5
"""Events of a twin count from this probability on, and an event is detectable from this one on."""
BAD_FIT = 0.01
"""Below this p-value of the posterior predictive check a twin does not explain the telemetry."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From which probability on an event of a twin counts; between `unknown`'s bounds it is in doubt.

    A twin also reports events that are less likely than not. An event without a probability is certain.
    """

    counted: float = COUNTED
    unknown: tuple[float, float] | None = None

    @classmethod
    def of(cls, twin: Mapping[str, Any] | None) -> Thresholds:
        """Return those of an episode's logged twin; the default ones where it names none."""
        given = twin or {}
        band = given.get("unknown_between")
        return cls(given.get("counted", COUNTED), None if band is None else (band[0], band[1]))

    def counts(self, event: HarmRow) -> bool:
        """Return whether the event enters sums and shares: it is likely, and begins within the record."""
        return self._is_likely(event) and not event.forecast

    def foretells(self, event: HarmRow) -> bool:
        """Return whether the event is likely, and begins after the record's end only."""
        return self._is_likely(event) and bool(event.forecast)

    def _is_likely(self, event: HarmRow) -> bool:
        likely = event.probability is None or event.probability >= self.counted
        return likely and not self.in_doubt(event)

    def in_doubt(self, event: HarmRow) -> bool:
        """Return whether it is unknown if the event happened."""
        return (
            event.probability is not None
            and self.unknown is not None
            and self.unknown[0] < event.probability < self.unknown[1]
        )

    def word(self, event: HarmRow) -> str:
        """Return the verdict for people: `not counted` where the twin holds the event too unlikely."""
        return str(event.verdict) if self._is_likely(event) or self.in_doubt(event) else NOT_COUNTED

    def judged(self, event: HarmRow) -> HarmRow:
        """Return the event, without a verdict where it is in doubt."""
        return replace(event, observed=None, verdict=Observation.UNKNOWN) if self.in_doubt(event) else event


def detected(
    event: HarmRow, share: float | None, roc: Mapping[str, Sequence[Sequence[float]]] | None = None
) -> HarmRow:
    """Return the event with this detection probability; observed below `COUNTED` is `hindsight`."""
    verdict = Observation.of(event.observed)
    if share is not None and event.observed and share < COUNTED:
        verdict = Observation.HINDSIGHT
    return replace(event, detection=share, roc=roc, verdict=verdict)
