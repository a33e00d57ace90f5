"""The faults of a simulated episode on its clock: those that are scheduled, and those that the seed draws."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pydantic import BaseModel

from core_eval.text.streams import keyed_uniform
from devices.faults import LINK_FAULTS, Fault, FaultRate, Faults
from sims.clock import NEVER, Clock

SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class FaultInterval:
    """One fault in ticks of device time: from `start` until before `end`; None: to the end of the episode."""

    kind: str
    entity: str | None
    start: int
    end: int | None
    strength: float


@dataclass
class _Intervals:
    """Intervals of one kind by their start, with an index of those active at a moment."""

    kind: str
    starts: list[int] = field(default_factory=list)
    intervals: list[FaultInterval] = field(default_factory=list)
    latest_ends: list[float] = field(default_factory=list)

    def add(self, interval: FaultInterval) -> None:
        """Append an interval."""
        end = math.inf if interval.end is None else interval.end
        self.latest_ends.append(max(end, self.latest_ends[-1]) if self.latest_ends else end)
        self.starts.append(interval.start)
        self.intervals.append(interval)

    def at(self, tick: int) -> Iterator[FaultInterval]:
        """Yield the active intervals."""
        for i in range(bisect_right(self.starts, tick) - 1, -1, -1):
            if self.latest_ends[i] <= tick:
                return
            end = self.intervals[i].end
            if end is None or end > tick:
                yield self.intervals[i]

    def next_start(self, tick: int) -> int | None:
        """Return the first tick after this one at which an interval begins."""
        after = bisect_right(self.starts, tick)
        return self.starts[after] if after < len(self.starts) else None


class _RandomIntervals(_Intervals):
    """The intervals of one rate, drawn as far as requested; independent of the order of requests."""

    def __init__(self, rate: FaultRate, key: str) -> None:
        super().__init__(rate.kind)
        self._rate = rate
        self._key = key
        self._t = 0.0

    def at(self, tick: int) -> Iterator[FaultInterval]:
        """Yield the active intervals; draws until one begins after this tick."""
        self._draw(tick)
        return super().at(tick)

    def next_start(self, tick: int) -> int | None:
        """Return the first tick after this one at which an interval begins."""
        self._draw(tick)
        return super().next_start(tick)

    def up_to(self, tick: int) -> Iterator[FaultInterval]:
        """Yield the intervals that begin at this tick at the latest."""
        self._draw(tick)
        return (one for one in self.intervals if one.start <= tick)

    def _draw(self, tick: int) -> None:
        rate = self._rate
        while not self.starts or self.starts[-1] <= tick:
            k = len(self.starts)
            gap, length, place = (keyed_uniform(self._key, k, what) for what in ("gap", "length", "strength"))
            self._t += -math.log1p(-gap) * SECONDS_PER_HOUR / rate.per_hour
            seconds = -math.log1p(-length) * rate.seconds
            low, high = rate.strength
            start = Clock.to_ticks(self._t)
            end = start + max(1, Clock.to_ticks(seconds))
            self.add(FaultInterval(rate.kind, rate.entity, start, end, low + place * (high - low)))


def faults_of(world: BaseModel) -> Faults:
    """Return a world's faults; none for a world without that part."""
    return getattr(world, "faults", Faults())


def scheduled(faults: Faults, seed: int, until: float) -> Faults:
    """Return the same faults with the random ones that this seed draws as scheduled ones.

    Args:
        faults: scheduled and random ones.
        seed: the episode's.
        until: those that begin up to this device time, s.
    """
    drawn = [
        Fault(
            kind=one.kind,
            at=Clock.to_seconds(one.start),
            seconds=None if one.end is None else Clock.to_seconds(one.end - one.start),
            strength=one.strength,
            entity=one.entity,
        )
        for group in FaultSchedule(faults, seed, lambda: 0).random
        for one in group.up_to(Clock.to_ticks(until))
    ]
    return Faults(schedule=[*faults.schedule, *drawn])


class FaultSchedule:
    """The active faults, and the moment of the next change.

    It is a function of faults, seed and time alone, so snapshots need nothing of it.

    Args:
        faults: scheduled and random ones. A rate's draws are keyed by the seed, its kind and its place among
            the rates of that kind, so rates of other kinds do not shift them.
        seed: the episode's.
        now: the tick of device time.
    """

    def __init__(self, faults: Faults, seed: int, now: Callable[[], int]) -> None:
        self._now = now
        by_kind: dict[str, _Intervals] = {}
        for fault in sorted(faults.schedule, key=lambda one: one.at):
            start = Clock.to_ticks(fault.at)
            end = None if fault.seconds is None else start + max(1, Clock.to_ticks(fault.seconds))
            interval = FaultInterval(fault.kind, fault.entity, start, end, fault.strength)
            by_kind.setdefault(fault.kind, _Intervals(fault.kind)).add(interval)
        places: Counter[str] = Counter()
        self._groups: list[_Intervals] = list(by_kind.values())
        self.random: list[_RandomIntervals] = []
        for rate in faults.random:
            self.random.append(_RandomIntervals(rate, f"{seed}/fault/{rate.kind}/{places[rate.kind]}"))
            places[rate.kind] += 1
        self._groups += self.random
        self._active: dict[tuple[str, str | None], float] = {}
        self._since, self._until = 0, -1
        self._next_change: int | None = None

    def strength(self, kind: str, entity: str | None = None) -> float:
        """Return the greatest strength of such a fault now; 0.0 without one.

        A reset takes no time, so it has no strength at any moment.
        """
        if not self._groups:
            return 0.0
        self._refresh()
        return self._active.get((kind, entity), 0.0)

    @property
    def next_change(self) -> int | None:
        """The next tick at which a fault of the rig (not of its link) begins or ends; None: never again."""
        if not self._groups:
            return None
        self._refresh()
        return self._next_change

    def reset_within(self, after: int, until: int) -> bool:
        """Return whether the board restarts at a tick in (after, until]."""
        for group in self._groups:
            if group.kind == "reset":
                start = group.next_start(after)
                if start is not None and start <= until:
                    return True
        return False

    def _refresh(self) -> None:
        tick = self._now()
        if self._since <= tick < self._until:
            return
        self._active = {}
        rig: list[int] = []
        link: list[int] = []
        for group in self._groups:
            changes = link if group.kind in LINK_FAULTS else rig
            start = group.next_start(tick)
            if start is not None:
                changes.append(start)
            if group.kind == "reset":
                continue
            for interval in group.at(tick):
                key = interval.kind, interval.entity
                self._active[key] = max(interval.strength, self._active.get(key, 0.0))
                if interval.end is not None:
                    changes.append(interval.end)
        self._next_change = min(rig, default=None)
        self._since, self._until = tick, min((*rig, *link), default=NEVER)
