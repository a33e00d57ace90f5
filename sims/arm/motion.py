"""What every arm's motion shares: one program at a time, and physics that is skipped while all rests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sized
from typing import Any, ClassVar, Generic, TypeVar

from sims.arm import scene_parts

P = TypeVar("P", bound=Sized)
RETREAT = 0.1
"""Part of its way, s, that the arm goes back after a protective stop, so that it does not go on pressing."""


class ArmMotion(ABC, Generic[P]):
    """A program of commands, a row for each step of physics, and whether physics may be skipped."""

    touch_force: ClassVar[float]
    """Force at which a descent that feels for its support ends, N."""
    mask: Any
    """The collision mask of a counterfactual (`sims.arm.contact_mask`)."""

    def __init__(self, physics: Any, monitor: Any) -> None:
        self.physics = physics
        self.monitor = monitor
        self.resting = True
        """Nothing moves, so physics is skipped until the next program."""
        self.guarded = True
        """Whether the protective stop works: it does not while an aid passes through things."""
        self.tripped = False
        """Whether the protective stop ended the last program."""
        self.ran = 0
        """Number of physics steps computed so far."""
        self._program: P | None = None
        self._row = 0
        self._feeling = False
        self._awake = False

    def load(self, program: P, *, feeling: bool = False) -> None:
        """Start this program; `feeling` ends it when the held object meets its support."""
        self._program, self._row, self._feeling = program, 0, feeling
        self.resting = self._awake = self.tripped = False
        self._forget_load()

    def _forget_load(self) -> None:
        """Begin anew to watch for what the protective stop looks at."""
        return

    @abstractmethod
    def halt(self) -> None:
        """End the running program; the servos hold their last commanded pose."""

    @abstractmethod
    def _command(self, program: P, row: int) -> None:
        """Command the servos as a row of the program says."""

    def _react(self) -> None:
        """React to the step that ended: guard the arm, feel for a support."""
        program = self._program if self.guarded and not self.tripped else None
        if program is not None and self._meets_something():
            rows = slice(max(0, self._row - steps(RETREAT)), self._row)
            self._program, self._row = self._back(program, rows), 0
            self.tripped, self._feeling = True, False
        if self._feeling and self.monitor.support_force > self.touch_force:
            self._feeling = False
            self.halt()

    @abstractmethod
    def _meets_something(self) -> bool:
        """Return whether the arm meets more than the protective stop allows."""

    @abstractmethod
    def _back(self, program: P, rows: slice) -> P:
        """Return the program that goes these rows back, with the gripper as in the last one."""

    def _lets_go(self) -> bool:
        """Every 20 ms: end a grip that slips, and return whether it did."""
        return False

    def _catch_up(self) -> None:
        """Set what follows from the last row of the program that ran."""
        return

    def run(self, count: int, t: float) -> None:
        """Run `count` steps of physics from device time `t`, s; none while everything rests."""
        physics, monitor = self.physics, self.monitor
        if self.resting:
            return
        for k in range(1, count + 1):
            if self._program is not None:
                self._command_next(self._program)
            physics.step()
            monitor.after_step(t + k * scene_parts.TIMESTEP)
            self._react()
            self.ran += 1
            if self.ran % monitor.pieces.slow_steps or self._lets_go():
                continue
            if self._awake and self.settled() and self.resting:
                break
        self._catch_up()
        physics.sync()

    def _command_next(self, program: P) -> None:
        if self._row == len(program):
            self.halt()
            self._feeling = False
            return
        self._command(program, self._row)
        self._row += 1

    def wake(self) -> None:
        """Run physics without a program until everything rests again."""
        self.resting, self._awake = False, True

    def settled(self) -> bool:
        """Return whether all motion has ended; physics is then skipped, unless harm goes on."""
        settled = self._program is None and self.physics.at_rest()
        harm = self.monitor.pieces.found or self.monitor.strained
        self.resting = settled and not harm
        self._awake = self._awake and not self.resting
        return bool(settled)


def steps(seconds: float) -> int:
    """Return the number of physics steps in this time."""
    return round(seconds / scene_parts.TIMESTEP)
