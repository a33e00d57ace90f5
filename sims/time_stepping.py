"""Passage of device time in a simulator: steps that end wherever something is due, until a stop."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from threading import Event

from sims.clock import Clock
from sims.coarse_sensors import SensorBank
from sims.faults import FaultSchedule

WAY_TICKS = Clock.to_ticks(0.2)
"""Least device time between two points of a machine's way."""
MOVED_M = 1e-3
"""Least distance between them, m."""


class Stopped(Exception):
    """A running call must end now, because of a stop.

    Attributes:
        code: a short stable word, such as `protective_stop`.
        message: a sentence for a model: what happened, or what to do now.
    """

    code = "stopped"
    message = "The call was stopped before its end."


class BoardReset(Stopped):
    """A running call must end now, because the board restarts (a fault of kind `reset`)."""

    code = "reset"
    message = "The board started anew in the middle of the call."


class RigFault(Stopped):
    """A running call must end now, because the rig stopped itself."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class TimeStepping(ABC):
    """The part of a simulator in which device time passes; a subclass sets clock, faults and sensors."""

    clock: Clock
    faults: FaultSchedule
    sample_period: float = 0.0
    """Least time between two samples of a sensor, s; 0: each is read at its own period."""
    quick_period: float = 0.0
    """The same of a sensor that may be `quick`; sensors that report changes are not looked at more often."""
    hurries: bool = False
    """What comes of calls matters, and not what the sensors tell of it: none is read."""
    _bank: SensorBank

    def __init__(self) -> None:
        self._halted = Event()
        self._stop: Event | None = None
        self._look: Callable[[float], None] | None = None
        self._look_ticks, self._looks_at_rest = 1, True
        self._settles = False
        self.way: list[tuple[float, float, float]] = []
        """Of the last call: device time, s, and position, m, wherever the machine had moved."""
        self._way_due = 0
        self._way_from: tuple[float, float] | None = None

    def position(self) -> tuple[float, float] | None:
        """Return where the machine is, seen from above, m; None where it is not one that moves about."""
        return None

    def begin_way(self) -> None:
        """Begin the way of a call."""
        self.way = []
        self._way_due, self._way_from = 0, self.position()

    @abstractmethod
    def evolve(self, seconds: float) -> None:
        """Advance the continuous state from `self.clock.now` by this time, and note harm in `self.ledger`."""

    def at_rest(self) -> bool:
        """Return whether every sensor's quantity stays in its `range_over` as long as there is no call."""
        return False

    def still(self) -> bool:
        """Return whether no state changes, nor harm, until a fault begins or ends, or the next call."""
        return False

    def idle(self) -> bool:
        """Return whether the rig itself does nothing: what a sensor has `ahead` is known."""
        return False

    def pass_time(self, seconds: float, tick: float | None = None) -> None:
        """Let device time pass, in steps that end at multiples of `tick` (s) of device time.

        They also end at each due sample, at each watched moment, and where a fault begins or ends. Sensors
        that report changes are polled at multiples of `tick` and at the end, so that other cuts do not change
        their samples.

        Raises:
            Stopped: the call's stop is set, or the board restarts; the state is that of the moment.
        """
        if self.hurries or not self.sample_period:
            self._pass_time(seconds, tick)
            return
        if tick is not None:
            tick = max(tick, self.quick_period)
        least, quick = Clock.to_ticks(self.sample_period), Clock.to_ticks(self.quick_period)
        self._bank.thin(least, quick, ahead=not self._settles and self.idle())
        try:
            self._pass_time(seconds, tick)
        finally:
            self._bank.fill(self.clock.ticks)

    def _pass_time(self, seconds: float, tick: float | None) -> None:
        clock = self.clock
        end = clock.ticks + Clock.to_ticks(seconds)
        longest = max(1, Clock.to_ticks(tick)) if tick is not None else None
        while clock.ticks < end:
            if self._stop is not None and (self._stop.is_set() or self._halted.is_set()):
                raise Stopped
            if self._settles and not self.hurries and self.at_rest():
                self._bank.rest(Clock.to_seconds(end - clock.ticks))
                self._settles = False
            before = clock.ticks
            step_end = look_at = end if longest is None else min(end, (before // longest + 1) * longest)
            for cut in (None if self.hurries else self._bank.next_due, self.faults.next_change):
                if cut is not None:
                    step_end = min(step_end, cut)
            if self._look is not None and (self._looks_at_rest or not self.still()):
                step_end = min(step_end, (before // self._look_ticks + 1) * self._look_ticks)
            self.evolve(Clock.to_seconds(step_end - before))
            clock.ticks = step_end
            if step_end >= self._way_due:
                self._note_position()
            if step_end % self._look_ticks == 0:
                self.look()
            if not self.hurries:
                self._bank.poll(step_end, look=step_end == look_at)
            if self.faults.reset_within(before, step_end):
                raise BoardReset

    def _note_position(self) -> None:
        here = self.position()
        self._way_due = self.clock.ticks + WAY_TICKS
        if here is not None and (self._way_from is None or math.dist(here, self._way_from) >= MOVED_M):
            self._way_from = here
            self.way.append((self.clock.now, round(here[0], 4), round(here[1], 4)))

    def resets_within(self, seconds: float) -> bool:
        """Return whether a fault restarts the board within this time from now, its end included."""
        now = self.clock.ticks
        return self.faults.reset_within(now, now + Clock.to_ticks(seconds))

    @property
    def watched(self) -> bool:
        """Whether anybody looks at the state at moments of their own."""
        return self._look is not None

    def look(self) -> None:
        """Call what watches now."""
        if self._look is not None:
            self._look(self.clock.now)

    def watch(self, period: float, look: Callable[[float], None] | None, *, at_rest: bool = True) -> None:
        """Call `look(t)` from now on at every multiple of `period` (s, whole milliseconds) of device time.

        It sees the state of that moment (`state_dict`). Physics that is solved in closed form is split there,
        so a watched episode may differ from an unwatched one by rounding. None ends it. Without
        `at_rest` moments are left out in which the rig is `still`.
        """
        self._look, self._look_ticks = look, max(1, Clock.to_ticks(period))
        self._looks_at_rest = at_rest
