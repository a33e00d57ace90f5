"""What every arm's motion shares: one program at a time, and physics that is skipped while all rests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sized
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np

from devices.arm import tolerances
from sims.arm import scene_parts
from sims.arm.geometry import Array


@dataclass(frozen=True, slots=True)
class Aid:
    """Aid of one motion.

    Attributes:
        passes_through: arm and target pass through everything but each other, the bench and bins' floors.
        goes_over: a straight line is replaced by a path over everything, in the same time.
        round_zone: the keep-out zone to be avoided.
        soft_grip: a grip is limited to what the object bears; a motion without a grip passes through things.
        release: an object is lowered onto its support, or put beside what it would stand on.
        limits_torque: every joint's drive is limited to the limit of the harm rule.
    """

    passes_through: bool = False
    goes_over: bool = False
    round_zone: str | None = None
    soft_grip: bool = False
    release: Literal["lower", "beside"] | None = None
    limits_torque: bool = False


NO_AID = Aid()


@dataclass(frozen=True, slots=True)
class MotionLimits:
    """Limits along a move: m/s, m/s^2, rad/s; turning accelerates in proportion."""

    speed: float
    acceleration: float
    yaw_speed: float


def progress(length: float, turn: float, limits: MotionLimits, dt: float) -> Array:
    """Return the shares of the path, in (0, 1], of a trapezoidal speed profile at multiples of dt."""
    if length < tolerances.PATH and turn < tolerances.PATH:
        return np.empty(0)
    speed = min(limits.speed / max(length, tolerances.PATH), limits.yaw_speed / max(turn, tolerances.PATH))
    rise = limits.speed / limits.acceleration
    gain = speed / rise
    if speed * rise > 1.0:  # too short for full speed
        speed = float(np.sqrt(gain))
        rise = 1.0 / speed
    total = 1.0 / speed + rise
    t = np.minimum(np.arange(1, int(np.ceil(total / dt - tolerances.PATH)) + 1) * dt, total)
    accelerating = 0.5 * speed / rise * np.minimum(t, rise) ** 2
    cruising = speed * np.clip(t - rise, 0.0, total - 2 * rise)
    late = np.clip(t - (total - rise), 0.0, rise)
    braking = speed * late - 0.5 * speed / rise * late**2
    return np.asarray(np.minimum(accelerating + cruising + braking, 1.0))


def slowed(path: Array, needed: Array) -> Array:
    """Return a path (n + 1, k) as steps after its start, each as many times as long as it needs."""
    times = np.concatenate([[0.0], np.cumsum(np.maximum(needed, 1.0))])
    at = np.minimum(np.arange(1, int(np.ceil(times[-1])) + 1), times[-1])
    return np.stack([np.interp(at, times, column) for column in path.T], axis=1)


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
        monitor.catch_up()
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
