"""The detection probability of the events of an episode.

The null are rigs of the same kind, drawn, with the remedy applied where the event happens; the alternative
are those of them on which it happens. The statistic is learned from `TRAINING` further rigs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core_eval.harm.detection.discriminant import LogLikelihoodRatio, Sides
from core_eval.harm.detection.rigs import Key, Kind, Played, play_rigs
from core_eval.harm.detection.roc import FALSE_ALARMS, Roc
from core_eval.harm.detection.telemetry_vector import (
    ANSWERS,
    Columns,
    Matrix,
    Vector,
    answer_columns,
    answers_matrix,
    finest,
    stretches,
    vector_of,
)
from core_eval.statistics.intervals import wilson
from devices.sensors import SensorSpec

TRAINING = 100
"""Rigs from which the statistic is learned."""
NULL = 200
"""Rigs by which it is judged."""
ENOUGH = 100
"""With so many of either on which each event happens no more are drawn."""
FEWEST = 20
"""With fewer of them on which the event happens there is no probability."""
SURE = 0.99
"""Level of the interval of an event's share by which it is known to be too rare before all rigs are drawn."""


@dataclass(frozen=True, slots=True)
class TooRare:
    """An event that happens, or that its remedy prevents, on too few of the drawn rigs.

    Attributes:
        happens: the share of the rigs that count.
    """

    happens: float


@dataclass(frozen=True)
class Detection:
    """What the telemetry of rigs of this kind shows of one event.

    Attributes:
        key: the event.
        happens: the share of the drawn rigs on which it happens.
        null, harmful: the number of harmless and of harmful courses that judge.
        groups: the kinds of sensors, and ANSWERS, in which the event makes a difference.
    """

    key: Key
    happens: float
    null: int
    harmful: int
    groups: tuple[str, ...]
    _ratio: LogLikelihoodRatio
    _null: Matrix
    _harmful: Matrix
    _fresh: Matrix

    def roc(self, groups: Collection[str]) -> Roc:
        """Return the ROC curve if only these groups are observed."""
        weights = self._ratio.joined(groups)
        return Roc.of(self._null @ weights, self._harmful @ weights)

    def probability(self, groups: Collection[str], rate: float = FALSE_ALARMS) -> float:
        """Return the share of harmful courses that are detected at this false-alarm rate."""
        return self.roc(groups).at(rate)

    def fresh_alarms(self, rate: float = FALSE_ALARMS) -> float | None:
        """Return the share of the fresh harmless courses that are false alarms; None without any."""
        if not len(self._fresh):
            return None
        weights = self._ratio.joined(self.groups)
        return Roc.of(self._null @ weights, self._fresh @ weights).at(rate)

    def interval(self, share: float) -> tuple[float, float]:
        """Return Wilson's 95 % interval of such a share."""
        return wilson(share, self.harmful, 0.95)


@dataclass(slots=True)
class Courses:
    """The vectors of the drawn rigs of one event, of which there were `rigs`; `pairs` as in `Sides`."""

    null: list[Vector] = field(default_factory=list)
    harmful: list[Vector] = field(default_factory=list)
    pairs: list[int] = field(default_factory=list)
    rigs: int = 0

    def are_hopeless(self, size: int) -> bool:
        """Return whether so many rigs will not show the event `FEWEST` times, as far as `SURE` goes."""
        if self.rigs < FEWEST or len(self.harmful) >= FEWEST:
            return False
        return wilson(len(self.harmful) / self.rigs, self.rigs, SURE)[1] * size < FEWEST

    def touched(self) -> list[str]:
        """Return the kinds of sensors that show an event on any rig: the others need not be read."""
        pairs = [(harmful, self.null[row]) for harmful, row in zip(self.harmful, self.pairs, strict=True)]
        kinds = self.null[0].kinds
        return [kind for kind in kinds if any(not one.is_as(two, kind) for one, two in pairs)]

    def read(self, kinds: Collection[str]) -> None:
        """Read these kinds of sensors, on both courses of a rig at once, which have the same noise."""
        for harmful, row in zip(self.harmful, self.pairs, strict=True):
            for kind in kinds:
                harmful.of(kind), self.null[row].of(kind)


def detect(
    kind: Kind,
    remedies: Mapping[Key, str],
    training: int = TRAINING,
    null: int = NULL,
    fresh: int = 0,
    *,
    enough: int = ENOUGH,
) -> dict[Key, Detection | TooRare]:
    """Return the detection of each event.

    Args:
        kind: the rigs and their episode.
        remedies: the remedy of the rule of each event.
        training, null: the greatest numbers of rigs.
        fresh: the number of further rigs, whose harmless courses check the false-alarm rate.
        enough: the number of harmful courses of each event after which no more are drawn.
    """
    (train, judged, other), drawn, happened, specs, limits = drawn_courses(
        kind, remedies, (training, null, fresh), enough
    )
    found: dict[Key, Detection | TooRare] = {}
    for key in remedies:
        if len(judged[key].harmful) < FEWEST or len(train[key].harmful) < FEWEST:
            both = judged[key], train[key]
            count, rigs = (sum(len(one.harmful) for one in both), sum(one.rigs for one in both))
            found[key] = TooRare(count / max(1, rigs))
            continue
        learned = train[key]
        columns = answer_columns([*learned.null, *learned.harmful])
        scales = dict(finest(specs, limits)) | {ANSWERS: np.array([size for *_, size in columns])}
        kinds = learned.touched()
        learned.read(kinds)
        harmless, harmful = (_matrices(one, columns, kinds) for one in (learned.null, learned.harmful))
        ratio = LogLikelihoodRatio(Sides(harmless, harmful, learned.pairs), scales)
        kinds = [kind for kind in kinds if kind in ratio.groups]
        judged[key].read(kinds)
        found[key] = Detection(
            key=key,
            happens=happened[key] / drawn,
            null=len(judged[key].null),
            harmful=len(judged[key].harmful),
            groups=ratio.groups,
            _ratio=ratio,
            _null=ratio.parts(_matrices(judged[key].null, columns, kinds)),
            _harmful=ratio.parts(_matrices(judged[key].harmful, columns, kinds)),
            _fresh=ratio.parts(_matrices(other[key].null, columns, kinds)),
        )
    return found


def drawn_courses(
    kind: Kind, remedies: Mapping[Key, str], sizes: Sequence[int], enough: int
) -> tuple[list[dict[Key, Courses]], int, dict[Key, int], Mapping[str, SensorSpec], Matrix]:
    """Play as many rigs as the sets together need; no more of an event that has enough, or will have too few.

    What an event is judged by does not depend on the others. One with too few in a set is not in the next.

    Returns:
        The courses of each set by event, the number of rigs, that on which each event happened, sensors,
        stretches.
    """
    sets = [{key: Courses() for key in remedies} for _ in sizes]
    rare: set[Key] = set()
    drawn, first = 0, 0
    happened = dict.fromkeys(remedies, 0)
    specs: Mapping[str, SensorSpec] = {}
    limits: Matrix = np.zeros(0)
    for place, (courses, size) in enumerate(zip(sets, sizes, strict=True)):
        settled = set(rare)
        for rig in play_rigs(kind, remedies, size, first, settled):
            if not drawn:
                specs = rig.track.specs
                after = 0.0 if rig.track.terminal is None else rig.track.terminal.t - kind.episode.end
                limits = stretches(kind.episode, after, {call for _, _, call in remedies})
            going = {key: one for key, one in courses.items() if key not in settled}
            _add(going, rig, limits)
            drawn += 1
            for key in rig.happened:
                happened[key] += 1
            # Fresh rigs need not show the event.
            gives_up = place < 2
            settled |= {
                key
                for key, one in going.items()
                if len(one.harmful) >= enough or (gives_up and one.are_hopeless(size))
            }
            if len(settled) == len(remedies):
                break
        first += size
        rare |= {key for key, one in courses.items() if len(one.harmful) < FEWEST}
        if len(rare) == len(remedies):
            break
    return sets, drawn, happened, specs, limits


def _add(courses: Mapping[Key, Courses], rig: Played, limits: Matrix) -> None:
    own = vector_of(rig.track, limits)
    for key, one in courses.items():
        one.rigs += 1
        if key in rig.harmless:
            one.pairs.append(len(one.null))
            one.harmful.append(own)
            one.null.append(vector_of(rig.harmless[key], limits))
        elif key not in rig.happened:
            one.null.append(own)


def _matrices(vectors: Sequence[Vector], columns: Columns, kinds: Collection[str]) -> dict[str, Matrix]:
    """Return courses as matrices, by group; empty without any."""
    if not vectors:
        return {}
    shown = {kind: np.vstack([one.of(kind) for one in vectors]) for kind in kinds}
    return shown | {ANSWERS: answers_matrix(vectors, columns)}
