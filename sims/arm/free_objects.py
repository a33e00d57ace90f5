"""The objects on a bench that move: where they are, which were moved, and the slots that they fill."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from devices.arm import tolerances
from devices.arm.arm_world import ArmWorld
from devices.arm.harm_rules import DROP, OBJECT_DISPLACED
from sims.arm.bench_model import BenchModel, Engine
from sims.arm.geometry import Array

REST_SPEED = 0.003
"""Speed, m/s and rad/s, below which an object rests."""


class FreeObjects:
    """Reads the objects of an engine; `first` is the index of the first in positions and velocities."""

    def __init__(self, names: tuple[str, ...], bench: BenchModel, engine: Engine, first: int) -> None:
        self.names = names
        self._bench = bench
        self._engine = engine
        self._first = first

    def position(self, name: str) -> Array:
        """Return an object's reference point (3,)."""
        return self._row(name)[:3]

    def positions(self) -> Array:
        """Return every object's reference point (n, 3), in the order of `names`."""
        return np.asarray(self._engine.data.qpos[self._first :].reshape(-1, 7)[:, :3])

    def pose(self, name: str) -> tuple[float, float, float, float]:
        """Return an object's x, y, z and yaw."""
        x, y, z, w, i, j, k = self._row(name).tolist()
        return x, y, z, float(np.arctan2(2 * (w * k + i * j), 1 - 2 * (j * j + k * k)))

    def poses(self) -> dict[str, dict[str, float]]:
        """Return every object's pose by its axes."""
        return {name: dict(zip(("x", "y", "z", "yaw"), self.pose(name), strict=True)) for name in self.names}

    def upright(self, name: str) -> bool:
        """Return whether an object stands within 10 degrees of upright."""
        i, j = self._row(name)[4:6].tolist()
        return bool(1 - 2 * (i * i + j * j) > np.cos(np.radians(10)))

    def adrift(self) -> set[str]:
        """Return the objects that move."""
        speeds = np.abs(self._engine.data.qvel[self._first :].reshape(-1, 6)).max(axis=1)
        return {name for name, speed in zip(self.names, speeds, strict=True) if speed > REST_SPEED}

    def _row(self, name: str) -> Array:
        start = self._bench.qpos[name]
        return np.asarray(self._engine.data.qpos[start : start + 7])


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


class Slots:
    """Tells which slots have any object within a radius, m, of their centre."""

    def __init__(self, layout: ArmWorld, objects: FreeObjects, radius: float) -> None:
        self._radius = radius
        self._centres = {name: np.array([tray.x, tray.y, tray.z]) for name, tray in layout.bins.items()}
        self._centres |= {name: objects.position(name).copy() for name in layout.objects}

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self._centres)

    def occupied(self, slot: str, objects: FreeObjects) -> bool:
        """Return whether any object is at a slot."""
        away = objects.positions() - self._centres[slot]
        return bool((np.linalg.norm(away, axis=1) <= self._radius).any())
