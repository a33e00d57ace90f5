"""The harm events of an episode, put together from the pieces of time that a simulator's rules report."""

from __future__ import annotations

from devices.harm import HarmEvent

SAME_MOMENT = 1e-6
"""Two pieces that lie no further apart than this, s, belong to one event."""


class HarmLedger:
    """Collects pieces of harm into events: one event for each unbroken stretch of a rule on an entity."""

    def __init__(self) -> None:
        self._events: list[HarmEvent] = []
        self._latest: dict[tuple[str, str], int] = {}

    @property
    def events(self) -> tuple[HarmEvent, ...]:
        """The events so far, in the order in which they began."""
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
        latest = self._latest.get((kind, entity))
        if latest is not None and t_start <= self._events[latest].t_end + SAME_MOMENT:
            self._events[latest] = self._events[latest].extended(t_end, severity, exposure)
            return
        self._latest[kind, entity] = len(self._events)
        self._events.append(HarmEvent(kind, entity, call, t_start, t_end, severity, exposure))
