"""Assembles the harm events of an episode from the pieces of time that a simulator's rules report."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from devices.harm import HarmEvent, HarmRule, Trend

SAME_MOMENT = 1e-6
"""Gap up to which two pieces belong to one event, s."""
LEAST_LOOK_S = 0.2
"""From this long after the record's end on, s, the mean severity since then predicts how an event goes on."""

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Open:
    """An event in progress at the record's end: its exposure by then, and its severity just before."""

    exposure: float
    severity: float


class HarmLedger:
    """Collects pieces of harm into events: one event for each unbroken stretch of a rule on an entity.

    What comes after `end_record` is run-out. It is counted up to its rule's `follow_s` after the event's
    begin, so that an exposure does not depend on how long the record went on.
    """

    def __init__(self, rules: Iterable[HarmRule] = ()) -> None:
        self._events: list[HarmEvent] = []
        self._latest: dict[Key, int] = {}
        self._severity: dict[int, float] = {}
        self._follow: Mapping[str, float] = {rule.kind: rule.follow_s for rule in rules}
        self.record_end: float | None = None
        """Device time at which the record ended, s; None while it goes on."""
        self._open: dict[int, _Open] = {}
        self._uncounted: dict[Key, float] = {}

    def __deepcopy__(self, _memo: dict[int, Any]) -> HarmLedger:
        """Copy what changes; events and rules are shared."""
        twin = copy.copy(self)
        twin._events, twin._latest, twin._severity = (
            self._events[:],
            self._latest.copy(),
            self._severity.copy(),
        )
        twin._open, twin._uncounted = self._open.copy(), self._uncounted.copy()
        return twin

    @property
    def events(self) -> tuple[HarmEvent, ...]:
        """The events so far, in the order of their start."""
        return tuple(self._events)

    def note(
        self,
        kind: str,
        entity: str,
        call: int,
        t_start: float,
        t_end: float,
        severity: float,
        exposure: float,
    ) -> None:
        """Add a piece of harm; it lengthens the latest event of that rule and entity where it adjoins it.

        An event that goes on through later calls stays with the call that began it.

        Args:
            kind, entity, call: as in `HarmEvent`.
            t_start, t_end: device time, s.
            severity: the peak in this piece, in the rule's unit.
            exposure: the piece's integral of the severity, in that unit times s.
        """
        key = kind, entity
        uncounted = self._uncounted.get(key)
        if uncounted is not None and t_start <= uncounted + SAME_MOMENT:
            self._uncounted[key] = max(uncounted, t_end)
            return
        index = self._latest.get(key)
        if index is not None and t_start > self._events[index].t_end + SAME_MOMENT:
            index = None
        if self.record_end is not None:
            begin = t_start if index is None else self._events[index].t_start
            last = self._last(kind, begin, self.record_end)
            if t_end > last:
                self._uncounted[key] = t_end
                if t_start >= last:
                    return
                exposure *= (last - t_start) / (t_end - t_start)
                t_end = last
        if index is None:
            index = self._latest[key] = len(self._events)
            self._events.append(HarmEvent(kind, entity, call, t_start, t_end, severity, exposure))
        else:
            self._events[index] = self._events[index].extended(t_end, severity, exposure)
        self._severity[index] = severity
        if self.record_end is not None:
            self._outlasts(index, severity, self.record_end)

    def over(self, kind: str, entity: str) -> None:
        """The latest event of that rule and entity is over: what adjoins it is another one."""
        self._latest.pop((kind, entity), None)

    def going_on(self, since: float) -> list[tuple[HarmEvent, float, bool]]:
        """Return the events that end no earlier than a device time, s, as far as they may go on.

        Each has its latest severity, and whether a piece that adjoins it is of it.
        """
        latest = set(self._latest.values())
        return [
            (event, self._severity[index], index in latest)
            for index, event in enumerate(self._events)
            if event.t_end >= since
        ]

    def end_record(self, t: float, grain: float = 0.0) -> None:
        """End the record at device time t, s; harm noted within `grain` (s) before is in progress."""
        self.record_end = t
        self._open = {
            index: _Open(self._events[index].exposure, self._severity[index])
            for index in self._latest.values()
            if self._events[index].t_end >= t - grain - SAME_MOMENT
        }

    def run_out(self, now: float, grain: float = 0.0) -> None:
        """Extend the events in progress at device time `now`, s, when nothing changes any more."""
        record_end = self.record_end
        if record_end is None:
            return
        for (kind, _), index in self._latest.items():
            event = self._events[index]
            if event.t_end < now - grain - SAME_MOMENT:
                continue
            last = self._last(kind, event.t_start, record_end)
            if last <= event.t_end:
                continue
            severity = self._severity[index]
            known = self._open.get(index)
            if known is not None and event.t_end - record_end >= LEAST_LOOK_S:
                severity = (event.exposure - known.exposure) / (event.t_end - record_end)
            self._events[index] = event.extended(last, severity, severity * (last - event.t_end))
            self._outlasts(index, self._severity[index], record_end, Trend.STEADY)

    def _last(self, kind: str, begin: float, record_end: float) -> float:
        """Return until when an event that began at `begin` counts, s."""
        return max(record_end, begin + self._follow.get(kind, 0.0))

    def _outlasts(self, index: int, severity: float, record_end: float, trend: Trend | None = None) -> None:
        event = self._events[index]
        if event.t_end <= record_end + SAME_MOMENT:
            return
        if event.trend is None and trend is None:
            before = self._open[index].severity if index in self._open else 0.0
            trend = (
                Trend.RISING if severity > before else Trend.FALLING if severity < before else Trend.STEADY
            )
        self._events[index] = replace(event, t_record=record_end, trend=event.trend or trend)
