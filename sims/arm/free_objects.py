"""The objects on a bench in MuJoCo, which stand and fall freely: their poses and motion, and full slots."""

from __future__ import annotations

import numpy as np

from devices.arm.arm_world import ArmWorld
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


class Slots:
    """Tells which slots have any object within a radius, m, of their centre."""

    def __init__(self, layout: ArmWorld, objects: FreeObjects, radius: float) -> None:
        self._radius = radius
        self.names = (*layout.bins, *layout.objects)
        bins = [[tray.x, tray.y, tray.z] for tray in layout.bins.values()]
        self._centres = np.concatenate([np.reshape(bins, (-1, 1, 3)), objects.positions()[:, None]])
        self._seen: bytes | None = None
        self._full: dict[str, bool] = {}

    def occupied(self, slot: str, objects: FreeObjects) -> bool:
        """Return whether any object is at a slot."""
        positions = objects.positions()
        # Objects rest most of the time, and all slots are looked at together.
        if (seen := positions.tobytes()) != self._seen:
            near = np.linalg.norm(positions - self._centres, axis=2) <= self._radius
            self._seen, self._full = seen, dict(zip(self.names, near.any(axis=1).tolist(), strict=True))
        return self._full[slot]
