"""What the arms' physics share: an engine of MuJoCo, and the objects that stand freely on its bench."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import mujoco

from sims.arm.bench_model import BenchModel, Engine
from sims.arm.free_objects import FreeObjects


class ArmPhysics:
    """One bench with an arm.

    Args:
        bench: the constant part, shared with every copy.
        objects: the names of the objects.
        first: index of the first object in positions and velocities.
    """

    fingers: frozenset[int]
    """The geoms that grip."""

    def __init__(self, bench: BenchModel, objects: Iterable[str], first: int) -> None:
        self.bench = bench
        self._engine = bench.engine()
        self.objects = FreeObjects(tuple(objects), bench, self._engine, first)

    @property
    def model(self) -> Any:
        """MuJoCo's model; grips and counterfactuals change it."""
        return self._engine.model

    @property
    def data(self) -> Any:
        """MuJoCo's state."""
        return self._engine.data

    def step(self) -> None:
        """Advance the physics by a step; poses derived from the joints lag until `sync`."""
        mujoco.mj_step(self._engine.model, self._engine.data)

    def sync(self) -> None:
        """Update all poses derived from the joints."""
        mujoco.mj_kinematics(self._engine.model, self._engine.data)

    def spare(self) -> Engine:
        """Return a copy to try poses on."""
        return self._engine.copy()
