"""The telemetry of a course as numbers: what each sensor showed in each stretch of time, and each result.

All rigs of a kind play the same calls at the same times, so the same number means the same in each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core_eval.harm.answers import TIMING_S, Readings
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.member import Track
from core_eval.text.values import is_number
from devices.sensors import Sample, SampleValue, SensorSpec
from sims.coarse_sensors import read_later

STRETCHES = 40
"""Approximate maximum number of stretches of time."""
SETTLING_STRETCHES = 8
ANSWERS = "answers"
"""The group of results and registers, which every rig has; the others are kinds of sensors."""
MOST_WORDS = 8
"""Words of one part of a result that are told apart, the most frequent ones."""

Matrix = NDArray[np.float64]
Columns = Sequence[tuple[tuple[int, str], str | None, float]]
"""Of results: key, word (None for a number), and the least difference that counts."""


@dataclass(frozen=True, slots=True)
class Noted:
    """What was noted of the readings of one sensor, in rows: tick, index, whether sure, quantity."""

    name: str
    spec: SensorSpec
    rows: Matrix


@dataclass(frozen=True, slots=True)
class Vector:
    """The telemetry of one course.

    Attributes:
        answers: each part of each result, and each register after each call and at the end.
        limits: of the stretches, s.
        seed: of the noise.
        noted: by kind, of which no reading was made yet.
    """

    answers: Mapping[tuple[int, str], tuple[Any, float]]
    limits: Matrix
    seed: int
    noted: Mapping[str, Sequence[Noted]]
    _shown: dict[str, Matrix] = field(default_factory=dict)

    @property
    def kinds(self) -> list[str]:
        """The kinds of its sensors."""
        return [*self._shown.keys() - self.noted.keys(), *self.noted]

    def of(self, kind: str) -> Matrix:
        """Return for each sensor of a kind and each stretch mean and greatest value; in words, of 0 and 1."""
        if kind not in self._shown:
            own = []
            for one in self.noted[kind]:
                rows = (
                    (int(tick), int(index), sure > 0.0, value)
                    for tick, index, sure, value in one.rows.tolist()
                )
                shown = read_later(one.name, one.spec, self.seed, rows)
                own.append(_shown(*shown, (False, True), self.limits))
            self._shown[kind] = np.concatenate(own)
        return self._shown[kind]

    def is_as(self, other: Vector, kind: str) -> bool:
        """Return whether this kind of sensors shows the same as on another course of the same rig."""
        if kind not in self.noted:
            return np.array_equal(self.of(kind), other.of(kind))
        both = zip(self.noted[kind], other.noted[kind], strict=True)
        return all(np.array_equal(one.rows, two.rows, equal_nan=True) for one, two in both)


def stretches(episode: LoggedEpisode, settling: float, keep: Collection[int]) -> Matrix:
    """Return the limits of the stretches of an episode, s: its calls, thinned out; the settling after it.

    Args:
        episode: the calls.
        settling: how long after the last call the sensors are read, s.
        keep: the calls whose start and end stay limits.
    """
    ends = sorted({0.0, *(moment for one in episode.calls for moment in (one.start, one.end))})
    every = max(1, len(ends) // STRETCHES)
    kept = {moment for index in keep for moment in (episode.calls[index].start, episode.calls[index].end)}
    limits = {0.0, episode.end, *ends[::every], *kept}
    even = np.linspace(0.0, episode.end, STRETCHES // 2 + 1)
    after = episode.end + np.linspace(0.0, max(settling, TIMING_S), SETTLING_STRETCHES + 1)
    return np.array(sorted({round(float(moment), 6) for moment in (*limits, *even, *after)}))


def vector_of(track: Track, limits: Matrix) -> Vector:
    """Return the telemetry of a course in these stretches."""
    samples: dict[str, list[Sample]] = {name: [] for name in track.specs}
    for sample in track.samples:
        samples[sample.sensor].append(sample)
    groups: dict[str, list[Matrix]] = {}
    noted: dict[str, list[Noted]] = {}
    for name, own in samples.items():
        kind = name.partition(".")[0]
        if name in track.readings:
            rows = np.frombuffer(track.readings[name]).reshape(-1, 4)
            noted.setdefault(kind, []).append(Noted(name, track.specs[name], rows))
        else:
            times, values = [sample.t for sample in own], [sample.value for sample in own]
            groups.setdefault(kind, []).append(_shown(times, values, track.words[name], limits))
    answers: dict[tuple[int, str], tuple[Any, float]] = {}
    for index, answer in enumerate(track.answers):
        answers |= _parts(index, "result.", answer.result) | _parts(index, "", answer.registers)
        if answer.status is not None:
            answers[index, "status"] = answer.status, 0.0
        if answer.seconds is not None:
            answers[index, "seconds"] = answer.seconds, TIMING_S
    if track.terminal is not None:
        answers |= _parts(len(track.answers), "", track.terminal.registers)
    shown = {kind: np.concatenate(own) for kind, own in groups.items()}
    return Vector(answers, limits, track.seed, noted, shown)


def finest(specs: Mapping[str, SensorSpec], limits: Matrix) -> dict[str, Matrix]:
    """Return the least difference that counts, of each number of each kind of sensor.

    A number differs by its sensor's resolution; the time of a reported change by `TIMING_S`.
    """
    lengths = np.diff(limits)
    groups: dict[str, list[Matrix]] = {}
    for name, spec in specs.items():
        step = spec.resolution if spec.kind in ("quantised", "continuous") else 0.0
        mean = np.full(len(lengths), step)
        if spec.period is None:
            mean = np.maximum(mean, (spec.resolution or 1.0) * np.minimum(1.0, TIMING_S / lengths))
        both = np.concatenate([mean, np.full(len(lengths), step)])
        groups.setdefault(name.partition(".")[0], []).append(both)
    return {kind: np.concatenate(own) for kind, own in groups.items()}


def _parts(index: int, prefix: str, readings: Readings) -> dict[tuple[int, str], tuple[Any, float]]:
    return {(index, f"{prefix}{part}"): reading for part, reading in readings.items()}


def _shown(
    t: Sequence[float],
    seen: Sequence[SampleValue],
    words: tuple[SampleValue, SampleValue],
    limits: Matrix,
) -> Matrix:
    """Return the mean and the maximum of what a sensor showed in each stretch; it shows its last sample."""
    if not t:
        return np.zeros(2 * (len(limits) - 1))
    times = np.array(t)
    in_words = isinstance(seen[0], str | bool)
    values = np.array([value == words[1] for value in seen] if in_words else seen, dtype=float)
    last = max(times[-1], limits[-1])
    steps = np.append(np.diff(times), last - times[-1])
    sums = np.concatenate([[0.0], np.cumsum(values * steps)])
    at_limits = np.interp(limits, np.append(times, last), sums)
    means = np.diff(at_limits) / np.diff(limits)
    first = np.maximum(np.searchsorted(times, limits, side="right") - 1, 0)
    spans = np.stack([first[:-1], first[1:] + 1], axis=1).ravel()
    peaks = np.maximum.reduceat(np.append(values, -np.inf), spans)[::2]
    return np.concatenate([means, peaks])


def answer_columns(vectors: Iterable[Vector]) -> Columns:
    """Return the columns of the results; a part that one course lacks is not compared."""
    seen: dict[tuple[int, str], list[tuple[Any, float]]] = {}
    count = 0
    for vector in vectors:
        count += 1
        for key, reading in vector.answers.items():
            seen.setdefault(key, []).append(reading)
    columns: list[tuple[tuple[int, str], str | None, float]] = []
    for key, readings in seen.items():
        if len(readings) < count:
            continue
        if all(is_number(value) for value, _ in readings):
            columns.append((key, None, max(resolution for _, resolution in readings)))
            continue
        words: dict[str, int] = {}
        for value, _ in readings:
            words[repr(value)] = words.get(repr(value), 0) + 1
        if len(words) > 1:
            frequent = sorted(words, key=lambda word: (-words[word], word))[:MOST_WORDS]
            columns += [(key, word, 0.0) for word in frequent]
    return columns


def answers_matrix(vectors: Sequence[Vector], columns: Columns) -> Matrix:
    """Return one row a course; a number that it lacks is not a number."""
    rows = np.full((len(vectors), len(columns)), np.nan)
    for row, vector in enumerate(vectors):
        for column, (key, word, _) in enumerate(columns):
            if key in vector.answers:
                value = vector.answers[key][0]
                rows[row, column] = float(repr(value) == word) if word is not None else _as_number(value)
    return rows


def _as_number(value: Any) -> float:
    return float(value) if is_number(value) else float("nan")
