"""The slots of a bench: its bins, and the places where its objects stood at first."""

from __future__ import annotations

import numpy as np

from devices.arm.arm_world import ArmWorld
from sims.arm.free_objects import FreeObjects


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
