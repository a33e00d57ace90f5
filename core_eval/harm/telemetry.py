"""Two episodes' coarse telemetry compared: the first sample that tells them apart."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from devices.sensors import Sample, SensorSpec

ROUNDING = 1e-9
"""Numbers that differ by no more than this beyond the resolution are the same."""
CHANGE_TIME_S = 1.0
"""A sensor that reports changes is stamped on arrival: moments closer than this, s, are the same."""


class Comparison:
    """An episode's samples, and its counterfactual's as they come; a sensor's are compared index by index.

    Samples of one sensor come in the order of their times, and none comes later than its time.
    """

    def __init__(
        self,
        samples: Iterable[Sample],
        specs: Mapping[str, SensorSpec],
        counts: Mapping[str, int] | None = None,
    ) -> None:
        """Take the episode's samples.

        Args:
            samples: from the moment on at which the two part.
            specs: each sensor's.
            counts: how many samples of each sensor came before, for the indices.
        """
        self._specs = specs
        self._ours: dict[str, deque[Sample]] = {}
        for sample in samples:
            self._ours.setdefault(sample.sensor, deque()).append(sample)
        self._counts = dict(counts or {})
        self._told: set[str] = set()
        self._best: tuple[float, str, dict[str, Any]] | None = None

    def take(self, theirs: Sample) -> None:
        """The counterfactual's next sample."""
        sensor = theirs.sensor
        if sensor in self._told:
            return
        waiting = self._ours.get(sensor)
        ours = waiting.popleft() if waiting else None
        index = self._counts.get(sensor, 0)
        self._counts[sensor] = index + 1
        if not _alike(ours, theirs, self._specs[sensor]):
            self._tell(sensor, index, ours, theirs)

    def settled(self, now: float) -> bool:
        """Whether what comes after device time `now`, s, cannot bring an earlier difference."""
        if self._best is None or self._best[0] >= now:
            return False
        return all(
            not waiting or sensor in self._told or waiting[0].t > self._best[0]
            for sensor, waiting in self._ours.items()
        )

    @property
    def found(self) -> dict[str, Any] | None:
        """The earliest difference so far."""
        return None if self._best is None else self._best[2]

    def end(self) -> dict[str, Any] | None:
        """The earliest difference, when no sample is to come any more."""
        for sensor, waiting in self._ours.items():
            if waiting and sensor not in self._told:
                self._tell(sensor, self._counts.get(sensor, 0), waiting[0], None)
        return self.found

    def _tell(self, sensor: str, index: int, ours: Sample | None, theirs: Sample | None) -> None:
        self._told.add(sensor)
        evidence = {
            "sensor": sensor,
            "index": index,
            "t": None if ours is None else ours.t,
            "value": None if ours is None else ours.value,
            "counterfactual": None if theirs is None else theirs.value,
            "counterfactual_t": None if theirs is None else theirs.t,
        }
        moment = min(sample.t for sample in (ours, theirs) if sample is not None)
        if self._best is None or (moment, sensor) < self._best[:2]:
            self._best = moment, sensor, evidence


def first_difference(
    samples: Iterable[Sample], counterfactual: Iterable[Sample], specs: Mapping[str, SensorSpec]
) -> dict[str, Any] | None:
    """The earliest sample that differs beyond its sensor's resolution, index by index; None where none does.

    Returns:
        `sensor`, `index`, `t`, `value`, `counterfactual`, `counterfactual_t`.
    """
    comparison = Comparison(samples, specs)
    for sample in counterfactual:
        comparison.take(sample)
    return comparison.end()


def _alike(one: Sample | None, other: Sample | None, spec: SensorSpec) -> bool:
    if one is None or other is None:
        return False
    if spec.period is None and abs(one.t - other.t) > CHANGE_TIME_S:
        return False
    a, b = one.value, other.value
    if isinstance(a, bool | str) or isinstance(b, bool | str):
        return a == b
    return abs(a - b) <= spec.resolution + ROUNDING
