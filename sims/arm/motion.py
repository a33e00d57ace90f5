"""What every arm's motion shares: one program at a time, and physics that is skipped while all rests."""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

from sims.arm import scene_parts


class Rests(Protocol):
    """Physics that comes to rest."""

    def at_rest(self) -> bool:
        """Return whether nothing moves."""


class Watches(Protocol):
    """A monitor of harm."""

    @property
    def active(self) -> bool:
        """Whether harm goes on."""


P = TypeVar("P")


class ArmMotion(Generic[P]):
    """A program of commands, a row for each step of physics, and whether physics may be skipped."""

    physics: Any
    monitor: Any

    def __init__(self, physics: Rests, monitor: Watches) -> None:
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

    def wake(self) -> None:
        """Run physics without a program until everything rests again."""
        self.resting, self._awake = False, True

    def settled(self) -> bool:
        """Return whether all motion has ended; physics is then skipped, unless harm goes on."""
        settled = self._program is None and self.physics.at_rest()
        self.resting = settled and not self.monitor.active
        self._awake = self._awake and not self.resting
        return bool(settled)


def steps(seconds: float) -> int:
    """Return the number of physics steps in this time."""
    return round(seconds / scene_parts.TIMESTEP)
