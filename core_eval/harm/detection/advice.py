"""Which sensors, at what price, make which share of harm detectable."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from core_eval.harm.detection.detect import Detection
from core_eval.harm.detection.roc import FALSE_ALARMS

MOST_CANDIDATES = 12
"""With more sensors than this only the greedy choice is made: the exact one tries every set."""
DETECTABLE = 0.5
GAIN = 1e-9
"""Least gain in the detected share that counts."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A set of sensors.

    Attributes:
        sensors: their kinds, in the order in which they were chosen.
        cost: their price.
        detected: the mean detection probability of the events: the expected share that is detected.
        detectable: the share of events whose detection probability is at least `DETECTABLE`.
    """

    sensors: tuple[str, ...]
    cost: float
    detected: float
    detectable: float


class Advisor:
    """Chooses among candidates by the events of some episodes."""

    def __init__(
        self,
        events: Sequence[tuple[Detection, Collection[str]]],
        prices: Mapping[str, float],
        rate: float = FALSE_ALARMS,
    ) -> None:
        """Take the events.

        Args:
            events: the detections on rigs with all candidates, each with the rig's own groups.
            prices: of each candidate.
            rate: the false-alarm rate.
        """
        self._events = events
        self._prices = prices
        self._rate = rate
        self._known: dict[tuple[int, frozenset[str]], float] = {}

    @cached_property
    def useful(self) -> tuple[str, ...]:
        """The candidates in which some event makes a difference, by name."""
        shown = {group for detection, _ in self._events for group in detection.groups}
        return tuple(sorted(shown & self._prices.keys()))

    def choice(self, sensors: Sequence[str]) -> Choice:
        """Return the set of these sensors."""
        shares = [self._share(index, frozenset(sensors)) for index in range(len(self._events))]
        count = max(1, len(shares))
        return Choice(
            tuple(sensors),
            sum(self._prices[sensor] for sensor in sensors),
            sum(shares) / count,
            sum(share >= DETECTABLE for share in shares) / count,
        )

    def greedy(self) -> list[Choice]:
        """Return the sets that grow by the sensor with the most gain in the detected share for its price.

        The first is the empty set. It ends where no sensor adds anything.
        """
        chosen = [self.choice(())]
        while True:
            last = chosen[-1]
            grown = [
                self.choice((*last.sensors, sensor)) for sensor in self.useful if sensor not in last.sensors
            ]
            gains = [one for one in grown if one.detected > last.detected + GAIN]
            if not gains:
                return chosen
            chosen.append(max(gains, key=lambda one: _worth(one, last)))

    def exact(self) -> list[Choice] | None:
        """Return the sets of which no other detects more for no higher price, by price; None with too many.

        Of equal ones it takes the one with fewer sensors.
        """
        if len(self.useful) > MOST_CANDIDATES:
            return None
        sets = (
            self.choice(sensors)
            for count in range(len(self.useful) + 1)
            for sensors in combinations(self.useful, count)
        )
        front: list[Choice] = []
        for one in sorted(sets, key=lambda one: (one.cost, -one.detected, len(one.sensors))):
            if not front or one.detected > front[-1].detected + GAIN:
                front.append(one)
        return front

    def _share(self, index: int, sensors: frozenset[str]) -> float:
        detection, own = self._events[index]
        groups = (sensors | frozenset(own)) & frozenset(detection.groups)
        if (index, groups) not in self._known:
            self._known[index, groups] = detection.probability(groups, self._rate)
        return self._known[index, groups]


def _worth(one: Choice, last: Choice) -> tuple[float, float]:
    gain, price = one.detected - last.detected, one.cost - last.cost
    return (float("inf") if price <= 0.0 else gain / price), gain
