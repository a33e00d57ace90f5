"""Stores of one quantity, independent parts of a world: a battery, a hopper, a tank.

What a store holds is linear in what is taken from it or added: level = base + slope * amount, until it is
filled or emptied. Base and slope are its unknowns. The amount is metered at the moments at which the rig's
sensors are looked at, so that the times at which a reading changes follow for all points in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from devices.harm import HarmEvent, HarmRule
from devices.sensors import SampleValue
from sims.factors import GridEvents

Floats = NDArray[np.float64]
Key = tuple[str, str]
"""Kind and entity of an event."""
LOOK_S = 1.0
"""Interval at which the sensors are looked at while a store is filled, s."""
LEAST_FILL_S = 1e-3
"""Least time in which a store is filled, s."""


@dataclass(frozen=True, slots=True)
class Fill:
    """A call that fills a store, from its begin to its end, device time, s.

    Attributes:
        full: it was not cut short.
        empties: it empties it instead, at once.
    """

    begin: float
    end: float
    full: bool = True
    empties: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """A call, or the time after the last one, from its begin to its end, device time, s.

    Attributes:
        got: what the parts of the world get in it, by name (`Simulator.given`).
    """

    begin: float
    end: float
    got: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Phase:
    """A time in which a store is only taken from, or only added to.

    Attributes:
        begin, end: device time, s.
        base, slope: of the level in the amount, of each point.
        times, amounts: device time, s, and what was metered then; both ascend.
        fills: a call fills it.
    """

    begin: float
    end: float
    base: Floats
    slope: Floats
    times: Floats
    amounts: Floats
    fills: bool = False

    @classmethod
    def of(cls, start: Floats) -> Phase:
        """Return the beginning, before anything was metered."""
        return cls(0.0, 0.0, start, np.ones_like(start), np.zeros(1), np.zeros(1))

    def level(self, t: float) -> Floats:
        """Return the level of each point at a device time, s."""
        place = max(0, int(np.searchsorted(self.times, t, "right")) - 1)
        level: Floats = self.base + self.slope * self.amounts[place]
        return level

    def seconds_within(self, low: float, high: float, begin: float, end: float) -> Floats:
        """Return for how long of a span, s, the level that was last looked at is within these."""
        bounds = (low - self.base) / self.slope, (high - self.base) / self.slope
        moments = np.append(self.times, self.end)
        first, last = (
            moments[np.searchsorted(self.amounts, bound)]
            for bound in (np.minimum(*bounds), np.maximum(*bounds))
        )
        seconds: Floats = np.maximum(0.0, np.minimum(last, end) - np.maximum(first, begin))
        return seconds


class StoreHarm(Protocol):
    """The harm that comes of a store."""

    @property
    def meters(self) -> tuple[str, ...]:
        """What of `Span.got` it depends on."""

    def events(
        self, store: Store, phases: Sequence[Phase], spans: Sequence[Span], size: Floats, end: float
    ) -> Mapping[Key, GridEvents]:
        """Return the harm of each point, if the record ends then; `size`: of the parameter of each."""

    def ahead(
        self, store: Store, phases: Sequence[Phase], spans: Sequence[Span], size: Floats
    ) -> Mapping[Key, NDArray[np.bool_]]:
        """Return where the last of the spans, a call that was not made yet, does harm."""

    def bears_out(
        self, store: Store, phases: Sequence[Phase], spans: Sequence[Span], size: Floats, event: HarmEvent
    ) -> NDArray[np.bool_] | None:
        """Return where a member's event of another rule happens; None: it does not depend on the store."""


@dataclass(frozen=True)
class Store:
    """A store of one quantity, from 0 to `full`.

    Attributes:
        entity: which its events name.
        start: the path of its level in the initial state; empty where it is known.
        hidden: the one parameter that it has for its own: the size of its slope; empty: it is 1.
        taken: the amount is taken, not added.
        meter: the sensor that tells the amount, fitted where the part is left out of a world.
        reads: of each sensor that tells of nothing else the levels, from and below, at which it says a word.
        told: the tool that tells the level in tenths, and the part of its result; None: none does.
        filled: the tool that fills it, and how much in a second; None: none does.
        full: the level up to which it is filled.
        harm: what harm comes of it.
    """

    entity: str
    start: tuple[str, ...]
    hidden: tuple[str, ...]
    taken: bool
    meter: str
    reads: Mapping[str, Callable[[SampleValue], tuple[float, float]]]
    harm: StoreHarm
    told: tuple[str, str] | None = None
    filled: tuple[str, float] | None = None
    full: float = math.inf

    @property
    def sensors(self) -> tuple[str, ...]:
        """The sensors that tell of nothing else."""
        return tuple(self.reads)

    @property
    def columns(self) -> int:
        """How many coordinates a point has: the level at the start, and the parameter."""
        return 1 + len(self.hidden)

    def phases(
        self,
        start: Floats,
        hidden: Mapping[str, Floats],
        metered: Sequence[tuple[float, float]],
        fills: Sequence[Fill],
        end: float,
    ) -> list[Phase]:
        """Return what becomes of each point.

        Args:
            start: the level at device time 0, of each point.
            hidden: the parameter `hidden` of each point.
            metered: device times, s, and the amount at each since the beginning; one that falls has been
                emptied.
            fills: the calls that filled it.
            end: device time up to which it is followed, s.
        """
        size = hidden[self.hidden[0]] if self.hidden else np.ones_like(start)
        slope = -size if self.taken else size
        times, amounts = np.array(metered).reshape(-1, 2).T
        # Only changes are metered: until the look before one the amount stayed.
        late = np.flatnonzero(np.diff(times) > LOOK_S) + 1
        moments = np.insert(times, late, times[late] - LOOK_S), np.insert(amounts, late, amounts[late - 1])
        emptied = [float(times[place]) for place in np.flatnonzero(np.diff(amounts) < 0.0) + 1]
        cuts = [*fills, *(Fill(t, t, empties=True) for t in emptied), Fill(end, math.inf)]
        found: list[Phase] = []
        base, since = start, 0.0
        for cut in sorted(cuts, key=lambda one: one.begin):
            inside = (times >= since) & ((times < cut.begin) if cut.empties else (times <= cut.begin))
            before = float(np.interp(since, *moments)) if self.taken else 0.0
            at, there = np.append(since, times[inside]), np.append(before, amounts[inside]) - before
            found.append(Phase(since, cut.begin, base, slope, at, there))
            since = cut.end
            if cut.begin >= end:
                break
            if cut.empties:
                base = np.zeros_like(start)
                continue
            assert self.filled is not None
            level, seconds = (
                np.maximum(0.0, found[-1].level(cut.begin)),
                max(cut.end - cut.begin, LEAST_FILL_S),
            )
            rate = np.maximum(self.filled[1], (self.full - level) / seconds if cut.full else 0.0)
            # What is taken meanwhile, such as through a valve that sticks.
            taken = np.diff(np.interp([cut.begin, cut.end], *moments))[0] if self.taken else 0.0
            rate = rate + slope * (taken / seconds)
            looks = np.arange(math.ceil(cut.begin / LOOK_S) * LOOK_S, cut.end, LOOK_S)
            looks = np.append(cut.begin, looks[looks > cut.begin])
            found.append(Phase(cut.begin, cut.end, level, rate, looks, looks - cut.begin, fills=True))
            base = (
                np.full_like(start, self.full) if cut.full else np.minimum(self.full, level + rate * seconds)
            )
        return found

    def agrees(
        self, phases: Sequence[Phase], sensor: str, said: Sequence[tuple[float, float, SampleValue]]
    ) -> Floats:
        """Return for how long, s, each point reads what a sensor said in these spans of device time."""
        agrees = np.zeros(len(phases[0].base))
        for begin, end, word in said:
            low, high = self.reads[sensor](word)
            for phase in phases:
                if phase.begin < end and phase.end > begin:
                    agrees += phase.seconds_within(low, high, max(begin, phase.begin), min(end, phase.end))
        return agrees

    def level(self, phases: Sequence[Phase], t: float) -> Floats:
        """Return the level of each point at a device time, s."""
        phase = next((one for one in reversed(phases) if one.begin <= t), phases[0])
        return np.clip(phase.level(t), 0.0, self.full)


@dataclass(frozen=True)
class Supply:
    """A store that decides what other parts get, so that it cannot be weighed apart from a run.

    Attributes:
        store: it; its harm is that of the run.
        amount, swayed: of `Simulator.given`, what was taken, and what of it hangs on a fault's strength.
        sway: how that depends on the strength, by kind of fault; strength 0 is none.
        books: the tool that tells the level by the rig's own account, and the part of its result; until it is
            filled, that is off by as much as the level at the start.
    """

    store: Store
    amount: str
    swayed: str
    sway: Mapping[str, Callable[[Floats], Floats]]
    books: tuple[str, str]


@dataclass(frozen=True)
class LevelRule:
    """The harm of a level beyond a limit.

    Attributes:
        rule, limit: the rule, and the level beyond which there is any.
    """

    rule: HarmRule
    limit: float
    meters: tuple[str, ...] = ()

    @property
    def _sign(self) -> float:
        return -1.0 if self.rule.falls_below else 1.0

    def events(
        self, store: Store, phases: Sequence[Phase], spans: Sequence[Span], size: Floats, end: float
    ) -> Mapping[Key, GridEvents]:
        """Return the harm of each point, that of several phases as one.

        Taking from a store that is too low at the start is none, nor is what nobody takes or adds.
        """
        rule, sign, points = self.rule, self._sign, len(size)
        severity, exposure, start, last = (
            np.zeros(points), np.zeros(points), np.full(points, np.inf), np.full(points, -np.inf)
        )  # fmt: skip
        for phase in phases:
            if phase.fills:
                continue
            excess = sign * (phase.base - self.limit), sign * phase.slope
            most = excess[0] + excess[1] * phase.amounts[-1]
            if store.taken:
                most = np.minimum(most, self.limit)
            on = (most > 0.0) & ((excess[0] <= 0.0) | (not store.taken))
            first = phase.amounts[np.searchsorted(phase.times, phase.begin, "right") - 1]
            if phase.amounts[-1] <= first or not on.any():
                continue
            place = np.searchsorted(phase.amounts, np.maximum(first, -excess[0] / excess[1]), "right")
            begin = np.append(phase.times, phase.end)[place]
            stop: Floats | float = phase.end
            if phase is phases[-1]:
                stop = np.maximum(end, begin + rule.follow_s)
            seconds = np.diff(np.append(phase.times, phase.end))
            total = np.append(0.0, np.cumsum(phase.amounts * seconds))
            amount = total[-1] - np.append(total, total[-1])[place] + phase.amounts[-1] * (stop - phase.end)
            lasting = excess[0] * (stop - begin) + excess[1] * amount
            severity = np.where(on, np.maximum(severity, most), severity)
            exposure = np.where(on, exposure + lasting, exposure)
            start, last = np.where(on, np.minimum(start, begin), start), np.where(on, stop, last)
        return {(rule.kind, store.entity): events_of(rule, self.limit, start, last, severity, exposure)}

    def ahead(
        self, store: Store, phases: Sequence[Phase], spans: Sequence[Span], size: Floats
    ) -> Mapping[Key, NDArray[np.bool_]]:
        """Return where a call does harm: costs more than without it."""
        rule, sign, latest, call = self.rule, self._sign, phases[-1], spans[-1]
        excess = sign * (latest.level(call.begin) - self.limit)
        # Taking from what is too low at the start is no harm.
        spared = store.taken & (sign * (latest.base - self.limit) > 0.0)
        after = excess + call.got.get(store.entity, 0.0) * (sign * size * (-1.0 if store.taken else 1.0))
        more = rule.cost(1.0, 0.0) * (after - np.maximum(0.0, excess)) > rule.trifling_cost(self.limit)
        harmful = ~spared & more & (after > rule.trifle.severity(self.limit))
        return {(rule.kind, store.entity): harmful}

    def bears_out(self, *_: object) -> None:
        """No other rule depends on the level."""


def events_of(
    rule: HarmRule, limit: float, start: Floats, last: Floats, severity: Floats, exposure: Floats
) -> GridEvents:
    """Return the events of a rule, those that are more than a trifle."""
    found = GridEvents(severity > 0.0, start, last, severity, exposure, rule.trifling_cost(limit))
    happens = (severity > rule.trifle.severity(limit)) & (cost_of(rule, found) > found.trifle)
    return replace(found, happens=happens)


def cost_of(rule: HarmRule, events: GridEvents) -> Floats:
    """Return what the events of a rule cost, in its unit of cost."""
    cost: Floats = rule.cost(events.severity, events.exposure)  # type: ignore[arg-type,assignment]
    return cost
