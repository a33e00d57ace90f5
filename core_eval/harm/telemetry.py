"""Compares the coarse telemetry of two episodes: finds the first differing sample."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core_eval.harm.answers import ROUNDING, TIMING_S, evidence_of, same
from devices.sensors import Sample, SensorSpec

CHANGE_TIME_S = TIMING_S
"""Tolerance, s, for sensors that report changes, whose samples are stamped on arrival."""


class TelemetryComparison:
    """Compares an episode's samples with its counterfactual's, as these arrive.

    A sensor's samples are compared index by index, with their times where it reports changes. One that tells
    changes of a rounded number is compared by what it showed at each moment: two that show the next tenth at
    different times never differ by more than that tenth, which is no more than its resolution.

    Samples of one sensor come in the order of their times, and none comes later than its time.
    """

    def __init__(
        self,
        samples: Mapping[str, Sequence[Sample]],
        specs: Mapping[str, SensorSpec],
        before: Iterable[Sample] = (),
    ) -> None:
        """Take the episode's samples.

        Args:
            samples: each sensor's (`by_sensor`).
            specs: each sensor's.
            before: the first of them, until the time at which the two diverge.
        """
        self._specs = specs
        self._counts: Counter[str] = Counter()
        self._shown: dict[str, _Shown] = {}
        self._latest: dict[str, tuple[Sample | None, Sample | None]] = {}
        for sample in before:
            self._counts[sample.sensor] += 1
            self._latest[sample.sensor] = sample, sample
            if _is_stepped(specs[sample.sensor]):
                self._shown[sample.sensor] = _Shown(sample, sample)
        self._ours = {sensor: _Waiting(own, self._counts[sensor]) for sensor, own in samples.items()}
        self._reported: set[str] = set()
        self._best: tuple[float, str, dict[str, Any]] | None = None

    def take_all(self, theirs: Iterable[Sample]) -> None:
        """Add more samples of the counterfactual; equal ones quickly."""
        for sensor, samples in by_sensor(theirs).items():
            waiting = self._ours.get(sensor)
            if waiting is not None and waiting.starts_with(samples) and not _is_stepped(self._specs[sensor]):
                if sensor not in self._reported:
                    self._counts[sensor] += len(samples)
                    self._latest[sensor] = samples[-1], samples[-1]
                    waiting.skip(len(samples))
                continue
            for sample in samples:
                self.take(sample)

    def take(self, theirs: Sample) -> None:
        """Add the counterfactual's next sample."""
        sensor = theirs.sensor
        if sensor in self._reported:
            return
        index = self._counts[sensor]
        self._counts[sensor] += 1
        if _is_stepped(self._specs[sensor]):
            self._catch_up(sensor, theirs.t, theirs)
            return
        waiting = self._ours.get(sensor)
        ours = waiting.pop() if waiting else None
        if not _alike(ours, theirs, self._specs[sensor]):
            self._report(sensor, index, ours, theirs)
        self._latest[sensor] = ours, theirs

    @property
    def found(self) -> dict[str, Any] | None:
        """The earliest difference so far; None if there is none."""
        return None if self._best is None else self._best[2]

    @property
    def moment(self) -> float:
        """Its device time, s; infinite if there is none."""
        return math.inf if self._best is None else self._best[0]

    def end(self) -> dict[str, Any] | None:
        """Return the earliest difference after the last sample."""
        self._catch_up_all(math.inf)
        for sensor, waiting in self._ours.items():
            if waiting and sensor not in self._reported:
                self._report(sensor, self._counts[sensor], waiting.first, None)
        return self.found

    # Sensors that report changes of a rounded number.

    def _catch_up_all(self, now: float) -> None:
        for sensor in {*self._ours, *self._shown} - self._reported:
            if _is_stepped(self._specs[sensor]):
                self._catch_up(sensor, now)

    def _catch_up(self, sensor: str, now: float, theirs: Sample | None = None) -> None:
        """Advance both displayed values of a sensor to a time at which theirs may change."""
        shown = self._shown.setdefault(sensor, _Shown())
        waiting = self._ours.get(sensor, _Waiting((), 0))
        while waiting and waiting.first.t < now and sensor not in self._reported:
            ours = waiting.pop()
            self._compare_at(sensor, shown, ours.t)
            shown.ours = ours
            self._compare_at(sensor, shown, ours.t)
        if sensor in self._reported:
            return
        self._compare_at(sensor, shown, now)
        if theirs is not None:
            if waiting and waiting.first.t <= now:
                shown.ours = waiting.pop()
            shown.theirs = theirs
            self._compare_at(sensor, shown, now)

    def _compare_at(self, sensor: str, shown: _Shown, t: float) -> None:
        """Report a difference that has lasted until `t`; or record when one begins or ends too early."""
        if shown.apart is not None and t - shown.apart > CHANGE_TIME_S and sensor not in self._reported:
            self._reported.add(sensor)
            self._keep(shown.apart, sensor, shown.evidence)
        elif _differ(shown.ours, shown.theirs, self._specs[sensor]):
            if shown.apart is None:
                shown.apart = t
                shown.evidence = _evidence(sensor, self._counts[sensor] - 1, t, shown.ours, shown.theirs)
        else:
            shown.apart = None

    def _report(self, sensor: str, index: int, ours: Sample | None, theirs: Sample | None) -> None:
        self._reported.add(sensor)
        moment = min(sample.t for sample in (ours, theirs) if sample is not None)
        shown = [
            latest if sample is None or sample.t > moment else sample
            for sample, latest in zip((ours, theirs), self._latest.get(sensor, (None, None)), strict=True)
        ]
        if None not in shown and shown[0].value == shown[1].value:  # type: ignore[union-attr]
            # The same value repeated on one side only.
            shown = [
                sample if sample is not None and sample.t <= moment else None for sample in (ours, theirs)
            ]
        self._keep(moment, sensor, _evidence(sensor, index, moment, *shown))

    def _keep(self, moment: float, sensor: str, evidence: dict[str, Any]) -> None:
        if self._best is None or (moment, sensor) < self._best[:2]:
            self._best = moment, sensor, evidence


class _Waiting:
    """The samples of a sensor that are not compared yet."""

    __slots__ = ("_place", "_samples")

    def __init__(self, samples: Sequence[Sample], place: int) -> None:
        self._samples, self._place = samples, place

    def __bool__(self) -> bool:
        return self._place < len(self._samples)

    @property
    def first(self) -> Sample:
        return self._samples[self._place]

    def pop(self) -> Sample:
        self._place += 1
        return self._samples[self._place - 1]

    def starts_with(self, others: Sequence[Sample]) -> bool:
        return self._samples[self._place : self._place + len(others)] == others

    def skip(self, count: int) -> None:
        self._place += count


@dataclass(slots=True)
class _Shown:
    """What a sensor shows on both sides; `apart`: since when it differs, s, with `evidence`."""

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
    """Return the earliest sample that differs beyond its resolution, by index; None if all agree.

    Args:
        samples, counterfactual: from the moment on at which the two part.
        specs: each sensor's.
        before: those of both until then, which sensors that report changes still show.

    Returns:
        `sensor`, `index`, `t`, `value`, `counterfactual`, `counterfactual_t`.
    """
    earlier = list(before)
    comparison = TelemetryComparison(by_sensor([*earlier, *samples]), specs, earlier)
    comparison.take_all(counterfactual)
    return comparison.end()


def by_sensor(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    """Return the samples of each sensor, in order."""
    grouped: dict[str, list[Sample]] = {}
    for sample in samples:
        grouped.setdefault(sample.sensor, []).append(sample)
    return grouped


def _alike(one: Sample | None, other: Sample | None, spec: SensorSpec) -> bool:
    if one is None or other is None:
        return False
    if spec.period is None and abs(one.t - other.t) > CHANGE_TIME_S:
        return False
    return same((one.value, spec.resolution), (other.value, spec.resolution))


def _is_stepped(spec: SensorSpec) -> bool:
    return spec.kind == "quantised" and spec.period is None


def _differ(one: Sample | None, other: Sample | None, spec: SensorSpec) -> bool:
    """Return whether the values differ beyond the resolution; a missing value differs from any."""
    if one is None or other is None:
        return one is not other
    return abs(float(one.value) - float(other.value)) > spec.resolution + ROUNDING


def _evidence(
    sensor: str, index: int, moment: float, ours: Sample | None, theirs: Sample | None
) -> dict[str, Any]:
    """Return the values of both sides at the same time."""
    (at, value), (other_at, other) = (
        (None, None) if one is None else (moment, one.value) for one in (ours, theirs)
    )
    return evidence_of(sensor, index, at, value, other, other_at)
