"""Pieces of an arm's harm, found in steps of the physics and in looks every 20 ms, joined into events."""

from __future__ import annotations

from collections.abc import Container

from sims.harm_ledger import HarmLedger

SLOW_SPAN = 0.02
"""Interval of the looks, s."""
SAME_EVENT = 0.25
"""Harm that recurs within this time, s, belongs to the same event."""
LONG_AGO = SAME_EVENT + 2 * SLOW_SPAN
"""Harm so long before a step, s, is another event than what is noted from then on."""


class HarmPieces:
    """Notes pieces of harm as those of the running call."""

    def __init__(self, ledger: HarmLedger, timestep: float) -> None:
        self.ledger = ledger
        self._timestep = timestep
        self._call = 0
        self._last: dict[tuple[str, str], float] = {}
        self._steps = 0
        self.slow_steps = round(SLOW_SPAN / timestep)
        """Number of physics steps in 20 ms."""
        self._step_harm = self._slow_harm = False
        self._t = 0.0

    @property
    def found(self) -> bool:
        """Whether the last step or the last look found harm."""
        return self._step_harm or self._slow_harm

    def begin_call(self, call: int, anew: Container[str]) -> None:
        """Begin a call; harm of the kinds in `anew` that has paused is another event then."""
        self._call = call
        self.part(anew)

    def part(self, kinds: Container[str]) -> None:
        """Make harm of these kinds that has paused, however briefly, another event."""
        for key in [key for key in self._last if key[0] in kinds]:
            del self._last[key]

    def begin_step(self, t: float) -> None:
        """Begin the evaluation of the step that ended at device time `t`, s."""
        self._step_harm, self._t = False, t

    def looks(self) -> bool:
        """Count a step; return whether a look is due after it."""
        self._steps += 1
        if self._steps % self.slow_steps:
            return False
        # What is too long ago to go on is no state.
        for key in [key for key, last in self._last.items() if self._t - last > LONG_AGO]:
            del self._last[key]
        self._slow_harm = False
        return True

    def in_step(self, kind: str, entity: str, t: float, severity: float) -> None:
        """Note harm of the step that ended at device time `t`, s; it may be one before the last."""
        self._step_harm = self._step_harm or t == self._t
        self._note(kind, entity, t, self._timestep, severity)

    def in_look(self, kind: str, entity: str, t: float, severity: float) -> None:
        """Note harm at a look, for the 20 ms before it."""
        self._slow_harm = True
        self._note(kind, entity, t, SLOW_SPAN, severity)

    def in_cycle(self, kind: str, entity: str, start: float, severity: float) -> None:
        """Note harm of a whole cycle of the running call, from `start` to the last step, s: its own event."""
        self.ledger.over(kind, entity)
        end = round(self._t, 6)
        self.ledger.note(kind, entity, self._call, round(start, 6), end, severity, severity * (end - start))

    def _note(self, kind: str, entity: str, t: float, span: float, severity: float) -> None:
        last = self._last.get((kind, entity))
        start = last if last is not None and t - span - last < SAME_EVENT else round(t - span, 6)
        self._last[kind, entity] = end = round(t, 6)
        self.ledger.note(kind, entity, self._call, start, end, severity, severity * span)
