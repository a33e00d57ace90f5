"""Runs an arm's motions in the device time of their call, up to a protective stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from devices.outcome import PROTECTIVE_STOP
from sims.arm.motion import RETREAT, ArmMotion
from sims.clock import Clock
from sims.time_stepping import RigFault

TICK = 0.04
"""Device time between two checks for a stop, s."""
SETTLE_TICK, LONGEST_SETTLING = 0.02, 2.0
"""A motion ends when everything rests, checked at this interval, or after this time, s."""

PassTime = Callable[[float, float], None]


class CallTime:
    """Lets a motion take device time by `pass_time(seconds, tick)`.

    Args:
        motion: what runs the programs.
        timestep: of the physics, s.
        stopped: the message of the protective stop.
    """

    def __init__(
        self, motion: ArmMotion[Any], pass_time: PassTime, clock: Clock, timestep: float, stopped: str
    ) -> None:
        self._motion = motion
        self.pass_time = pass_time
        self._clock = clock
        self._timestep = timestep
        self._stopped = stopped
        self._end: int | None = None
        self.arrived = True
        """Whether the last motion reached its goal, rather than got stuck or stopped."""

    def begin(self, duration: float | None) -> None:
        """Begin a call. A motion that has not ended after a given duration, s, does the rest in no time."""
        self._end = None if duration is None else self._clock.ticks + Clock.to_ticks(duration)

    def run(self, program: Any, *, feeling: bool = False) -> None:
        """Run a program to its end; `feeling` as in `Motion.load`."""
        self._motion.load(program, feeling=feeling)
        self.take(len(program) * self._timestep)
        self._motion.mask.lift()

    def settle(self) -> None:
        """Wait until everything rests."""
        for _ in range(round(LONGEST_SETTLING / SETTLE_TICK)):
            self.take(SETTLE_TICK)
            if self._motion.settled():
                break
        self._motion.mask.lift()

    def take(self, seconds: float) -> None:
        """Run the motion for this time."""
        count, left = self._steps(seconds), 0
        if self._end is not None:
            left = count - min(count, max(0, self._steps(Clock.to_seconds(self._end - self._clock.ticks))))
        end, ticks = count - left, self._steps(TICK)
        done = self._steps(Clock.to_seconds(self._clock.ticks)) % ticks
        while end > 0:
            part = min(end, ticks - done)
            self.pass_time(part * self._timestep, TICK)
            self._check()
            end, done = end - part, 0
        self._motion.run(left, self._clock.now)
        self._check()

    def _check(self) -> None:
        """End the motion where the protective stop tripped, after the retreat."""
        if not self._motion.tripped:
            return
        retreat = self._steps(2 * RETREAT)
        if self._end is None:
            self.pass_time(retreat * self._timestep, TICK)
        else:
            self._motion.run(retreat, self._clock.now)
        self._motion.tripped = self.arrived = False
        raise RigFault(PROTECTIVE_STOP, self._stopped)

    def _steps(self, seconds: float) -> int:
        return round(seconds / self._timestep)
