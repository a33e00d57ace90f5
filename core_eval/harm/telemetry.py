"""Two episodes' coarse telemetry compared: the first sample that tells them apart."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from core_eval.harm.answers import ROUNDING, TIMING_S, same
from devices.sensors import Sample, SensorSpec

CHANGE_TIME_S = TIMING_S
"""A sensor that reports changes is stamped on arrival: moments closer than this, s, are the same."""


class Comparison:
    """An episode's samples, and its counterfactual's as they come.

    A sensor's samples are compared index by index, with their times where it reports changes. One that tells
    changes of a rounded number is compared by what it showed at each moment: two that show the next tenth at
    different times never differ by more than that tenth, which is no more than its resolution.

    Samples of one sensor come in the order of their times, and none comes later than its time.
    """

    def __init__(
        self,
        samples: Iterable[Sample],
        specs: Mapping[str, SensorSpec],
        before: Iterable[Sample] = (),
    ) -> None:
        """Take the episode's samples.

        Args:
            samples: from the moment on at which the two part.
            specs: each sensor's.
            before: those of both until then.
        """
        self._specs = specs
        self._ours: dict[str, deque[Sample]] = {}
        for sample in samples:
            self._ours.setdefault(sample.sensor, deque()).append(sample)
        self._counts: Counter[str] = Counter()
        self._shown: dict[str, _Shown] = {}
        self._latest: dict[str, tuple[Sample | None, Sample | None]] = {}
        for sample in before:
            self._counts[sample.sensor] += 1
            self._latest[sample.sensor] = sample, sample
            if _is_stepped(specs[sample.sensor]):
                self._shown[sample.sensor] = _Shown(sample, sample)
        self._told: set[str] = set()
        self._best: tuple[float, str, dict[str, Any]] | None = None

    def take(self, theirs: Sample) -> None:
        """The counterfactual's next sample."""
        sensor = theirs.sensor
        if sensor in self._told:
            return
        index = self._counts[sensor]
        self._counts[sensor] += 1
        if _is_stepped(self._specs[sensor]):
            self._catch_up(sensor, theirs.t, theirs)
            return
        waiting = self._ours.get(sensor)
        ours = waiting.popleft() if waiting else None
        if not _alike(ours, theirs, self._specs[sensor]):
            self._tell(sensor, index, ours, theirs)
        self._latest[sensor] = ours, theirs

    def settled(self, now: float, moment: float) -> bool:
        """Whether what comes after device time `now`, s, cannot bring a difference before this moment, s."""
        self._catch_up_all(now)
        if moment >= now:
            return False
        open_yet = (shown for sensor, shown in self._shown.items() if sensor not in self._told)
        if any(shown.apart is not None and shown.apart <= moment for shown in open_yet):
            return False
        return all(
            not waiting or sensor in self._told or waiting[0].t > moment
            for sensor, waiting in self._ours.items()
        )

    @property
    def found(self) -> dict[str, Any] | None:
        """The earliest difference so far."""
        return None if self._best is None else self._best[2]

    @property
    def moment(self) -> float:
        """Its device time, s; infinite where there is none."""
        return math.inf if self._best is None else self._best[0]

    def end(self) -> dict[str, Any] | None:
        """The earliest difference, when no sample is to come any more."""
        self._catch_up_all(math.inf)
        for sensor, waiting in self._ours.items():
            if waiting and sensor not in self._told:
                self._tell(sensor, self._counts[sensor], waiting[0], None)
        return self.found

    # Sensors that report changes of a rounded number.

    def _catch_up_all(self, now: float) -> None:
        for sensor in {*self._ours, *self._shown} - self._told:
            if _is_stepped(self._specs[sensor]):
                self._catch_up(sensor, now)

    def _catch_up(self, sensor: str, now: float, theirs: Sample | None = None) -> None:
        """Follow what the sensor shows on both sides up to a time, at which theirs may change."""
        shown = self._shown.setdefault(sensor, _Shown())
        waiting = self._ours.get(sensor, deque())
        while waiting and waiting[0].t < now and sensor not in self._told:
            ours = waiting.popleft()
            self._look(sensor, shown, ours.t)
            shown.ours = ours
            self._look(sensor, shown, ours.t)
        if sensor in self._told:
            return
        self._look(sensor, shown, now)
        if theirs is not None:
            if waiting and waiting[0].t <= now:
                shown.ours = waiting.popleft()
            shown.theirs = theirs
            self._look(sensor, shown, now)

    def _look(self, sensor: str, shown: _Shown, t: float) -> None:
        """Tell of a difference that has lasted until `t`; or note when one begins, or ends too soon."""
        if shown.apart is not None and t - shown.apart > CHANGE_TIME_S and sensor not in self._told:
            self._told.add(sensor)
            self._keep(shown.apart, sensor, shown.evidence)
        elif _differ(shown.ours, shown.theirs, self._specs[sensor]):
            if shown.apart is None:
                shown.apart = t
                shown.evidence = _evidence(sensor, self._counts[sensor] - 1, t, shown.ours, shown.theirs)
        else:
            shown.apart = None

    def _tell(self, sensor: str, index: int, ours: Sample | None, theirs: Sample | None) -> None:
        self._told.add(sensor)
        moment = min(sample.t for sample in (ours, theirs) if sample is not None)
        shown = [
            latest if sample is None or sample.t > moment else sample
            for sample, latest in zip((ours, theirs), self._latest.get(sensor, (None, None)), strict=True)
        ]
        if None not in shown and shown[0].value == shown[1].value:  # type: ignore[union-attr]
            # The same word again, on one side alone.
            shown = [
                sample if sample is not None and sample.t <= moment else None for sample in (ours, theirs)
            ]
        self._keep(moment, sensor, _evidence(sensor, index, moment, *shown))

    def _keep(self, moment: float, sensor: str, evidence: dict[str, Any]) -> None:
        if self._best is None or (moment, sensor) < self._best[:2]:
            self._best = moment, sensor, evidence


@dataclass(slots=True)
class _Shown:
    """What a sensor shows on both sides; `apart` since when it differs, s, and `evidence` of that."""

    ours: Sample | None = None
    theirs: Sample | None = None
    apart: float | None = None
    evidence: dict[str, Any] = field(default_factory=dict)


def first_difference(
    samples: Iterable[Sample],
    counterfactual: Iterable[Sample],
    specs: Mapping[str, SensorSpec],
    before: Iterable[Sample] = (),
) -> dict[str, Any] | None:
    """The earliest sample that differs beyond its sensor's resolution, index by index; None where none does.

    Args:
        samples, counterfactual: from the moment on at which the two part.
        specs: each sensor's.
        before: those of both until then: what a sensor that reports changes went on showing.

    Returns:
        `sensor`, `index`, `t`, `value`, `counterfactual`, `counterfactual_t`.
    """
    comparison = Comparison(samples, specs, before)
    for sample in counterfactual:
        comparison.take(sample)
    return comparison.end()


def _alike(one: Sample | None, other: Sample | None, spec: SensorSpec) -> bool:
    if one is None or other is None:
        return False
    if spec.period is None and abs(one.t - other.t) > CHANGE_TIME_S:
        return False
    return same((one.value, spec.resolution), (other.value, spec.resolution))


def _is_stepped(spec: SensorSpec) -> bool:
    return spec.kind == "quantised" and spec.period is None


def _differ(one: Sample | None, other: Sample | None, spec: SensorSpec) -> bool:
    """Whether what is shown differs beyond the resolution; what shows nothing yet differs from all."""
    if one is None or other is None:
        return one is not other
    return abs(float(one.value) - float(other.value)) > spec.resolution + ROUNDING


def _evidence(
    sensor: str, index: int, moment: float, ours: Sample | None, theirs: Sample | None
) -> dict[str, Any]:
    """What the sensor shows on both sides at the same moment."""
    return {
        "sensor": sensor,
        "index": index,
        "t": None if ours is None else moment,
        "value": None if ours is None else ours.value,
        "counterfactual": None if theirs is None else theirs.value,
        "counterfactual_t": None if theirs is None else moment,
    }
