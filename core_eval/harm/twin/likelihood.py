"""The likelihood of the logged telemetry, given an ensemble member's track.

- A periodic sensor has independent noise at each sample. One with a threshold says "on" with the probability
  that quantity plus noise passes the level that holds after its last word; one that rounds, with the
  probability that the sum rounds to what was said; a continuous one has a normal density.
- A sensor that reports its changes is compared as a step function of time: what counts is for how long the
  two disagree.
- The results of calls are compared part by part, numbers with the model's tolerance. Calls that act are
  compared by how long they took, where that was noted or a sensor ended them.
A missing sample is ignored. Each term has a floor, since rigs deviate from every model; in an ensemble each
channel (a sensor, a tool's results, its durations) may also not follow the model at all (`robust`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core_eval.call_status import CallStatus
from core_eval.harm.answers import ROUNDING, Answer, Readings
from core_eval.harm.telemetry import by_sensor
from core_eval.harm.twin.logged_episode import LoggedCall, LoggedEpisode
from core_eval.harm.twin.member import Track
from devices.sensors import Sample, SampleValue, SensorSpec

OUTLIER = 1e-3
"""Share of periodic samples that may be arbitrary."""
MODEL_ERROR = 1e-3
"""Model error of a quantity, as a share of the sensor's threshold or of the reading."""
CHANGE_S = 0.1
"""Typical time error, s, of a sensor's change if the model holds."""
MOST_CHANGE = 20.0
"""Number of such times beyond which the cost of a disagreement grows logarithmically."""
OTHER_PART = 4.0
"""Cost of each differing part of a result."""
RESULT_SHARE = 0.02
"""A number in a result differs if its error exceeds its resolution and this share of it."""
CALL_S, CALL_SHARE = 0.02, 0.002
"""Error of a call's duration, in s and as a share of it."""
ENDED_S = 0.25
"""The same, in s, of a call that a sensor ended in a member that was driven for the recorded time."""
CERTAIN = 6.0
"""So many standard deviations beyond its threshold a sensor's word is certain."""
CHANGE_COST = 3.0
"""Cost of each change of a sensor that does not follow the model."""


def log_likelihood(episode: LoggedEpisode, track: Track) -> float:
    """Return the log-likelihood of the whole episode, up to a constant."""
    return sum(channel.term for channel in channels(episode, track))


def robust(found: Iterable[Channel], discrepancy: float) -> float:
    """Return the log-likelihood if each channel may, with this probability, not follow the model.

    Such a channel is told by its own changes alone; it still costs more the worse it fits, but slowly.
    """
    return sum(channel.robust(discrepancy) for channel in found)


@dataclass(frozen=True, slots=True)
class Channel:
    """The log-likelihood of one sensor, of the results of one tool, or of its durations.

    Attributes:
        name: the sensor, `TOOL results` or `TOOL duration`.
        term: by the model.
        unmodelled: without the model.
    """

    name: str
    term: float
    unmodelled: float

    def robust(self, discrepancy: float) -> float:
        """Return the log-likelihood of the mixture of model and no model."""
        if not discrepancy:
            return self.term
        floor = self.unmodelled - math.log1p(max(0.0, self.unmodelled - self.term))
        one, other = math.log1p(-discrepancy) + self.term, math.log(discrepancy) + floor
        return max(one, other) + math.log1p(math.exp(-abs(one - other)))


def robust_terms(term: NDArray[np.float64], alone: float, discrepancy: float) -> NDArray[np.float64]:
    """Return `Channel.robust` for an array of terms; `alone`: the channel's without the model."""
    if not discrepancy:
        return term
    floor = alone - np.log1p(np.maximum(0.0, alone - term))
    mixed: NDArray[np.float64] = np.logaddexp(math.log1p(-discrepancy) + term, math.log(discrepancy) + floor)
    return mixed


def weighted(terms: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the log-evidence of each member, and the weights of its points, given their log-likelihoods."""
    most = terms.max(axis=1, keepdims=True)
    likelihood = np.exp(terms - most)
    total = likelihood.sum(axis=1, keepdims=True)
    return (most + np.log(total / likelihood.shape[1]))[:, 0], likelihood / total


def astray(found: Iterable[Channel]) -> frozenset[str]:
    """Return the names of the channels that the model explains worse than none does."""
    return frozenset(channel.name for channel in found if channel.term < channel.unmodelled)


def channels(episode: LoggedEpisode, track: Track, without: Container[str] = frozenset()) -> list[Channel]:
    """Return the channels of an episode, sensors first, then calls; `without` these."""
    going = ChannelsSoFar(track, without)
    going.take(episode.calls, episode.samples, episode.end)
    return going.found()


class StillPossible:
    """The log-likelihood that a run can still reach: each channel's only falls as the run goes on.

    No term is above 0. Periodic samples are left out: a run is compared with them when it is beyond them.

    Args:
        episode: the log.
        discrepancy: as in `robust`.
        without: channels that are left out.
    """

    def __init__(self, episode: LoggedEpisode, discrepancy: float, without: frozenset[str]) -> None:
        self._episode, self._discrepancy, self._without = episode, discrepancy, without
        ends = [one.end for one in episode.calls]
        self._samples: list[list[Sample]] = [[] for _ in ends]
        for sample in episode.samples:
            if (place := bisect_left(ends, sample.t)) < len(ends):
                self._samples[place].append(sample)

    def of_run(self) -> Callable[[int, Track], float]:
        """Return what gives it after each call of a run, by index and record, in their order."""
        going: ChannelsSoFar | None = None

        def most(index: int, track: Track) -> float:
            nonlocal going
            if going is None:
                periodic = {name for name, spec in track.specs.items() if spec.period is not None}
                going = ChannelsSoFar(track, periodic | self._without)
            call = self._episode.calls[index]
            going.take([call], self._samples[index], call.end)
            return robust(going.found(), self._discrepancy)

        return most


class ChannelsSoFar:
    """The channels of an episode that goes on.

    Args:
        track: the member's; it grows.
        without: channels that are left out.
    """

    def __init__(self, track: Track, without: Container[str] = frozenset()) -> None:
        self._track, self._without = track, without
        self._samples: dict[str, list[Sample]] = {}
        self._terms: dict[str, float] = {}
        self._calls = 0

    def take(self, calls: Sequence[LoggedCall], samples: Sequence[Sample], end: float) -> None:
        """Take the next calls, which the member has made too, and samples, up to device time `end`, s."""
        track = self._track
        for name, new in by_sensor(samples).items():
            spec = track.specs.get(name)
            if spec is None or name in self._without:
                continue
            known = self._samples.setdefault(name, [])
            if spec.period is not None:
                before = known[-1].value if known else None
                sensed, on = track.sensed.get(name, ([], [])), track.words[name][1]
                self._add(name, _periodic(new, spec, sensed, on, before))
            known += new
        for name, known in self._samples.items():
            if track.specs[name].period is None:
                ours = [sample for sample in track.samples if sample.sensor == name]
                apart = disagreement(known, ours, end)
                self._terms[name] = -MOST_CHANGE * math.log1p(apart / CHANGE_S / MOST_CHANGE)
        made, self._calls = self._calls, self._calls + len(calls)
        answers, durations = track.answers[made : self._calls], track.durations[made : self._calls]
        for one, answer, seconds in zip(calls, answers, durations, strict=True):
            results, duration = f"{one.call.tool} results", f"{one.call.tool} duration"
            if one.result is not None and results not in self._without:
                self._add(results, -OTHER_PART * _other_parts(one.result, answer.result))
            cost = None if duration in self._without else duration_cost(one, answer, seconds)
            if cost is not None:
                self._add(duration, -MOST_CHANGE * math.log1p(cost / MOST_CHANGE))

    def found(self) -> list[Channel]:
        """Return them, sensors first, then calls."""
        sensors = [name for name in self._track.specs if name in self._samples]
        return [Channel(name, self._terms[name], unmodelled(self._samples[name])) for name in sensors] + [
            Channel(name, term, 0.0) for name, term in self._terms.items() if name not in self._samples
        ]

    def _add(self, name: str, term: float) -> None:
        self._terms[name] = self._terms.get(name, 0.0) + term


def unmodelled(samples: Sequence[Sample]) -> float:
    """Return the log-likelihood of a sensor's samples without a model: each change surprises."""
    changes = sum(not alike(one.value, other.value) for one, other in pairwise(samples))
    return -CHANGE_COST * changes


def duration_cost(one: LoggedCall, answer: Answer, seconds: float | None) -> float | None:
    """Return the error of a call's duration in its deviations; None where it was not noted.

    A call that was driven for its recorded time counts if a sensor of the rig ended it, with more tolerance.
    """
    own = one.call.duration
    if seconds is not None:
        return abs(seconds - own) / (CALL_S + CALL_SHARE * own)
    if answer.seconds is not None and one.call.status == CallStatus.OK:
        return abs(answer.seconds - own) / (ENDED_S + CALL_SHARE * own)
    return None


def residuals(episode: LoggedEpisode, track: Track) -> list[float]:
    """Return a member's residuals for least squares: numbers of about 1 that change smoothly.

    Calls that act give the error of their length, sensors that report changes the time for which they
    disagree, periodic ones by how much the quantity is on the wrong side of what was said. How many there
    are, and in which order, depends on the log alone.
    """
    missed: list[float] = []
    for one, seconds in zip(episode.calls, track.durations, strict=True):
        if seconds is not None:
            missed.append((seconds - one.call.duration) / (CALL_S + CALL_SHARE * one.call.duration))
    logged = by_sensor(episode.samples)
    for name, spec in sorted(track.specs.items()):
        samples = logged.get(name, [])
        if spec.period is None:
            ours = [sample for sample in track.samples if sample.sensor == name]
            missed.append(disagreement(samples, ours, episode.end) / CHANGE_S if samples else 0.0)
            continue
        times, values = track.sensed.get(name, ([], []))
        before: SampleValue | None = None
        for sample in samples:
            quantity = float(np.interp(sample.t, times, values)) if times else 0.0
            missed.append(_wrong_side(sample.value, before, quantity, spec, track.words[name][1]))
            before = sample.value
    return missed


def _wrong_side(
    value: SampleValue, before: SampleValue | None, quantity: float, spec: SensorSpec, on: SampleValue
) -> float:
    if spec.kind in ("threshold", "switch"):
        level = level_of(before, spec, on)
        width = math.hypot(spec.noise, MODEL_ERROR * abs(level)) or 1.0
        return max(0.0, (level - quantity if alike(value, on) else quantity - level) / width)
    if isinstance(value, str):
        return 0.0
    width = math.hypot(spec.noise, MODEL_ERROR * abs(float(value)), spec.resolution / 2.0) or 1.0
    return (float(value) - quantity) / width


def _periodic(
    samples: Sequence[Sample],
    spec: SensorSpec,
    sensed: tuple[Sequence[float], Sequence[float]],
    on: SampleValue,
    before: SampleValue | None,
) -> float:
    times, values = sensed
    if not times:
        return 0.0
    quantities = np.interp([sample.t for sample in samples], times, values)
    total = 0.0
    for sample, quantity in zip(samples, quantities, strict=True):
        if sample.t > 0.0:
            total += math.log(
                (1.0 - OUTLIER) * chance_of(sample.value, before, float(quantity), spec, on) + OUTLIER
            )
        before = sample.value
    return total


def chance_of(
    value: SampleValue, before: SampleValue | None, quantity: float, spec: SensorSpec, on: SampleValue
) -> float:
    """Return the probability (of a continuous sensor: the density) of a sample after another."""
    if spec.kind in ("threshold", "switch"):
        level = level_of(before, spec, on)
        width = math.hypot(spec.noise, MODEL_ERROR * abs(level)) or MODEL_ERROR
        above = _below((quantity - level) / width)
        return above if alike(value, on) else 1.0 - above
    if isinstance(value, str):
        return 1.0
    half = spec.resolution / 2.0 if spec.kind == "quantised" else 0.0
    width = width_of(quantity, spec)
    off = float(value) - quantity
    if not half:
        # A density, per a thousandth of the reading: a number without unit, as a probability is.
        unit = 1e-3 * max(abs(float(value)), 1e-3)
        return unit / width * math.exp(-((off / width) ** 2) / 2.0) / math.sqrt(2.0 * math.pi)
    return _below((off + half) / width) - _below((off - half) / width)


def chances(
    value: SampleValue,
    before: SampleValue | None,
    quantities: NDArray[np.float64],
    spec: SensorSpec,
    on: SampleValue,
) -> NDArray[np.float64]:
    """Return `chance_of` for an array of quantities."""
    if spec.kind not in ("threshold", "switch"):
        return np.array([chance_of(value, before, float(q), spec, on) for q in quantities])
    level = level_of(before, spec, on)
    width = math.hypot(spec.noise, MODEL_ERROR * abs(level)) or MODEL_ERROR
    places = (quantities - level) / width
    above = (places > 0.0).astype(float)
    near = np.flatnonzero(np.abs(places) < CERTAIN)
    above[near] = [_below(float(place)) for place in places[near]]
    return above if alike(value, on) else 1.0 - above


def width_of(quantity: float, spec: SensorSpec) -> float:
    """Return the standard deviation of a reading that is no word."""
    return max(math.hypot(spec.noise, MODEL_ERROR * abs(quantity)), 1e-12)


def level_of(before: SampleValue | None, spec: SensorSpec, on: SampleValue) -> float:
    """Return the level that a threshold sensor compares with, given its last value."""
    level = 0.5 if spec.threshold is None else spec.threshold
    return level - spec.hysteresis if before is not None and alike(before, on) else level


def _below(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def disagreement(samples: Sequence[Sample], others: Sequence[Sample], end: float) -> float:
    """Return for how long, s, two sensors that report changes disagree until `end`."""
    moments = sorted({0.0, end, *(s.t for s in (*samples, *others) if 0.0 < s.t < end)})
    apart = 0.0
    one, other = _Steps(samples), _Steps(others)
    for start, stop in pairwise(moments):
        if not alike(one.at(start), other.at(start)):
            apart += stop - start
    return apart


class _Steps:
    """The value of a sensor that reports changes at a time; queried in order of time."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._samples = samples
        self._next = 0
        self._value: SampleValue | None = samples[0].value if samples else None

    def at(self, t: float) -> SampleValue | None:
        while self._next < len(self._samples) and self._samples[self._next].t <= t:
            self._value = self._samples[self._next].value
            self._next += 1
        return self._value


def alike(a: SampleValue | None, b: SampleValue | None) -> bool:
    """Return whether two readings are equal; booleans equal the log's 0 and 1."""
    if isinstance(a, str) or isinstance(b, str) or a is None or b is None:
        return a == b
    return abs(float(a) - float(b)) <= 1e-9


def _other_parts(logged: Mapping[str, Any], ours: Readings) -> int:
    """Count the differing parts of a result."""
    return sum(
        _other(logged[part], value, finest) for part, (value, finest) in ours.items() if part in logged
    )


def compared_parts(logged: Mapping[str, Any], ours: Readings) -> int:
    """Count the parts of a result that are compared."""
    return sum(part in logged for part in ours)


def _other(logged: Any, ours: Any, finest: float) -> bool:
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (logged, ours))
    if not numbers:
        return bool(logged != ours)
    return bool(abs(logged - ours) > finest + RESULT_SHARE * max(abs(logged), abs(ours)) + ROUNDING)
