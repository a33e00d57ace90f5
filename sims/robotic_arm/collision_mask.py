"""The bench's counterfactuals: passing through things, setting objects down, also beside others."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from devices.arm.footprints import Footprint, overlap
from devices.arm.layout import fixtures, support
from devices.arm.things import GRIP_HEIGHT
from devices.robotic_arm.world import COLUMN
from sims.arm.contact_mask import ContactMask
from sims.robotic_arm import scene
from sims.robotic_arm.physics import BenchPhysics

RING_STEP, FARTHEST, DIRECTIONS = 0.005, 0.5, 48
"""Free places are searched on rings this far apart, up to this far away (m), in this many directions."""
ROOM = 0.003
"""Gap round an object that is set down beside others, m."""


class CollisionMask(ContactMask):
    """The bench's mask, which also puts objects beside others."""

    def __init__(self, physics: BenchPhysics) -> None:
        super().__init__(physics)
        self._physics: BenchPhysics = physics

    def put_beside(self, name: str) -> None:
        """Put an object, upright and at rest, on the nearest free place of the bench or of a bin."""
        physics = self._physics
        world, thing = physics.world, physics.world.objects[name]
        x, y, z, yaw = physics.objects.pose(name)
        taken = [*fixtures(world, COLUMN), *self._others(name), self._gripper()]
        half_length, half_width = thing.size[0] / 2 + ROOM, thing.size[1] / 2 + ROOM
        for px, py in _rings(x, y):
            low = support(world, px, py)
            here = Footprint(
                name,
                px,
                py,
                yaw,
                half_length,
                half_width,
                low,
                low + thing.size[2],
                thing.shape == "cylinder",
            )
            if not any(overlap(here, other) for other in taken):
                x, y, z = px, py, low + GRIP_HEIGHT
                break
        start = physics.bench.qpos[name]
        physics.data.qpos[start : start + 7] = (x, y, z, math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2))
        self.stop(name)

    def _others(self, name: str) -> Iterator[Footprint]:
        physics = self._physics
        for other, thing in physics.world.objects.items():
            if other != name:
                x, y, z, yaw = physics.objects.pose(other)
                low = z - GRIP_HEIGHT
                # A thing that fell over may reach as far as its longest side.
                half = (
                    thing.size[:2] if physics.objects.upright(other) else (max(thing.size), max(thing.size))
                )
                yield Footprint(other, x, y, yaw, half[0] / 2, half[1] / 2, low, low + thing.size[2])

    def _gripper(self) -> Footprint:
        x, y, z, yaw = self._physics.tip()
        half_width = self._physics.world.arm.opening / 2 + scene.FINGER_THICKNESS
        return Footprint("gripper", x, y, yaw, scene.FINGER_WIDTH / 2, half_width, z, np.inf)


def _rings(x: float, y: float) -> Iterator[tuple[float, float]]:
    for k in range(round(FARTHEST / RING_STEP)):
        for j in range(DIRECTIONS):
            angle = 2 * math.pi * j / DIRECTIONS
            yield x + k * RING_STEP * math.cos(angle), y + k * RING_STEP * math.sin(angle)
