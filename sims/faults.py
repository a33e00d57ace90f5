"""The faults of a simulated episode on its clock: those that are scheduled, and those that the seed draws."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pydantic import BaseModel

from devices.faults import LINK_FAULTS, FaultRate, Faults
from sims.clock import NEVER, Clock
from sims.counter_rng import keyed_uniform

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
class _Spells:
    """Spells of one kind by their start, with what it takes to find those that go on at a moment."""

    kind: str
    starts: list[int] = field(default_factory=list)
    spells: list[FaultInterval] = field(default_factory=list)
    latest_ends: list[float] = field(default_factory=list)

    def add(self, spell: FaultInterval) -> None:
        """The next one."""
        end = math.inf if spell.end is None else spell.end
        self.latest_ends.append(max(end, self.latest_ends[-1]) if self.latest_ends else end)
        self.starts.append(spell.start)
        self.spells.append(spell)

    def at(self, tick: int) -> Iterator[FaultInterval]:
        """Those that have begun and not ended."""
        for i in range(bisect_right(self.starts, tick) - 1, -1, -1):
            if self.latest_ends[i] <= tick:
                return
            end = self.spells[i].end
            if end is None or end > tick:
                yield self.spells[i]

    def next_start(self, tick: int) -> int | None:
        """The first tick after this one at which a spell begins."""
        after = bisect_right(self.starts, tick)
        return self.starts[after] if after < len(self.starts) else None


class _Drawn(_Spells):
    """The spells of one rate, drawn as far as they are asked for; the same whatever is asked first."""

    def __init__(self, rate: FaultRate, key: str) -> None:
        super().__init__(rate.kind)
        self._rate = rate
        self._key = key
        self._t = 0.0

    def at(self, tick: int) -> Iterator[FaultInterval]:
        """As for those at set times; drawn until one begins after this tick."""
        self._draw(tick)
        return super().at(tick)

    def next_start(self, tick: int) -> int | None:
        """As for those at set times."""
        self._draw(tick)
        return super().next_start(tick)

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
    """A world's faults; a world without that part has none."""
    return getattr(world, "faults", Faults())


class FaultSchedule:
    """Which faults there are now, and when the next one begins or ends.

    It is a function of faults, seed and time alone, so nothing of it has to be kept in a snapshot.

    Args:
        faults: scheduled and random ones. A rate's draws are keyed by the seed, its kind and its place among
            the rates of that kind, so other kinds may come and go.
        seed: the episode's.
        now: the tick of device time.
    """

    def __init__(self, faults: Faults, seed: int, now: Callable[[], int]) -> None:
        self._now = now
        by_kind: dict[str, _Spells] = {}
        for fault in sorted(faults.schedule, key=lambda one: one.at):
            start = Clock.to_ticks(fault.at)
            end = None if fault.seconds is None else start + max(1, Clock.to_ticks(fault.seconds))
            spell = FaultInterval(fault.kind, fault.entity, start, end, fault.strength)
            by_kind.setdefault(fault.kind, _Spells(fault.kind)).add(spell)
        places: Counter[str] = Counter()
        self._groups: list[_Spells] = list(by_kind.values())
        for rate in faults.random:
            self._groups.append(_Drawn(rate, f"{seed}/fault/{rate.kind}/{places[rate.kind]}"))
            places[rate.kind] += 1
        self._active: dict[tuple[str, str | None], float] = {}
        self._since, self._until = 0, -1
        self._next_change: int | None = None

    def strength(self, kind: str, entity: str | None = None) -> float:
        """0.0 when there is no such fault now, else its strength; the greatest where several overlap.

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
        """Whether the board starts anew at a tick in (after, until]."""
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
            for spell in group.at(tick):
                key = spell.kind, spell.entity
                self._active[key] = max(spell.strength, self._active.get(key, 0.0))
                if spell.end is not None:
                    changes.append(spell.end)
        self._next_change = min(rig, default=None)
        self._since, self._until = tick, min((*rig, *link), default=NEVER)
