"""What a call does to objects that it moves: pushed away, let go, dropped."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from devices.arm import tolerances
from devices.arm.harm_rules import DROP, OBJECT_DISPLACED
from sims.arm.free_objects import FreeObjects


class MovedObjects:
    """Compares the objects with where they stood when the running call began.

    Args:
        objects: those of the physics.
        displacement, drop_height: the limits of the two rules, m.
    """

    def __init__(self, objects: FreeObjects, displacement: float, drop_height: float) -> None:
        self._objects = objects
        self._displacement, self._drop_height = displacement, drop_height
        self.targets: set[str] = set()
        """What the call may move."""
        self._adrift: set[str] = set()
        self._start = objects.positions().copy()
        self._moved = np.zeros(len(objects.names))
        self._released: tuple[str, float] | None = None

    def begin_call(self, *targets: str | None) -> None:
        """Begin a call with these targets."""
        self.targets = {name for name in targets if name is not None}
        self._adrift = self._objects.adrift()
        self._start = self._objects.positions().copy()
        self._moved[:] = 0.0
        self._released = None

    def released(self, name: str) -> None:
        """Let an object's fall count from where it is now."""
        self.targets.add(name)
        self._released = (name, float(self._objects.position(name)[2]))

    def caught(self, name: str | None) -> None:
        """End an object's fall: it is held again."""
        if self._released is not None and self._released[0] == name:
            self._released = None

    def look(self) -> Iterator[tuple[str, str, float]]:
        """Yield the harm to objects that have moved since the last look: rule, object, and severity, m."""
        off = self._objects.positions() - self._start
        moved = np.sqrt((off * off).sum(axis=1))
        going_on = np.abs(moved - self._moved) > tolerances.STILL
        self._moved = moved
        for k in np.flatnonzero(going_on).tolist():
            name = self._objects.names[k]
            if self._released is not None and name == self._released[0]:
                kind, excess = DROP.kind, self._fall(self._released) - self._drop_height
            elif name not in self.targets | self._adrift:
                kind, excess = OBJECT_DISPLACED.kind, float(moved[k]) - self._displacement
            else:
                continue
            if excess > 0.0:
                yield kind, name, excess

    def _fall(self, released: tuple[str, float]) -> float:
        name, height = released
        return height - float(self._objects.position(name)[2])

    def state(self) -> dict[str, object]:
        """Return how far each object is from where it stood, and below where it was released, m."""
        stands = [name for name in self._objects.names if name not in self.targets | self._adrift]
        moved = np.linalg.norm(self._objects.positions() - self._start, axis=1).tolist()
        released = self._released
        return {
            "displaced": {n: m for n, m in zip(self._objects.names, moved, strict=True) if n in stands},
            "fallen": {} if released is None else {released[0]: self._fall(released)},
        }
