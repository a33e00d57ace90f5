"""Collision masks and placements of counterfactuals: passing through things, setting objects down."""

from __future__ import annotations

import math
from collections.abc import Iterator

import mujoco
import numpy as np

from devices.robotic_arm.footprints import Footprint, overlap
from devices.robotic_arm.world import GRIP_HEIGHT
from sims.robotic_arm import scene
from sims.robotic_arm.physics import BenchPhysics

LOWERING = 0.0005
"""Step by which an object is lowered until it stands, m."""
RING_STEP, FARTHEST, DIRECTIONS = 0.005, 0.5, 48
"""Free places are searched on rings this far apart, up to this far away (m), in this many directions."""
ROOM = 0.003
"""Gap round an object that is set down beside others, m."""


class CollisionMask:
    """Disables collisions of the arm and its targets while a call is made harmless."""

    def __init__(self, physics: BenchPhysics) -> None:
        self._physics = physics
        self.active = False
        self._ghosts: set[str] = set()

    def apply(self, target: str | None) -> None:
        """Let the arm and the target pass through everything but each other, the bench and bins' floors."""
        physics, model = self._physics, self._physics.model
        self.active = True
        model.geom_conaffinity[:] = physics.bench.conaffinity & ~scene.ARM
        if target is not None:
            self._ghosts.add(target)
        for name in self._ghosts:
            geom = physics.geom_of(name)
            model.geom_contype[geom] = scene.HELD
            model.geom_conaffinity[geom] = scene.FLOOR | (scene.ARM if name == target else 0)

    def lift(self) -> None:
        """End the mask as soon as none of the disabled pairs overlaps."""
        if not self.active:
            return
        model, bench = self._physics.model, self._physics.bench
        contype, conaffinity = model.geom_contype.copy(), model.geom_conaffinity.copy()
        before = self._touching()
        model.geom_contype[:], model.geom_conaffinity[:] = bench.contype, bench.conaffinity
        self.active = bool(self._touching() - before)
        if self.active:
            model.geom_contype[:], model.geom_conaffinity[:] = contype, conaffinity
        else:
            self._ghosts.clear()

    def _touching(self) -> set[tuple[int, int]]:
        physics = self._physics
        physics.sync()
        flags = physics.model.opt.enableflags
        physics.model.opt.enableflags = 0  # Contacts of sleeping objects count, too.
        mujoco.mj_collision(physics.model, physics.data)
        physics.model.opt.enableflags = flags
        return {(int(a), int(b)) for a, b in physics.data.contact.geom}

    def lower(self, name: str) -> None:
        """Put an object at rest straight down on what is beneath it."""
        physics = self._physics
        data, start = physics.data, physics.bench.qpos[name]
        self._stop(name)
        while data.qpos[start + 2] > 0.0:
            data.qpos[start + 2] -= LOWERING
            mujoco.mj_forward(physics.model, data)
            if self._supported(name):
                break

    def _supported(self, name: str) -> bool:
        physics = self._physics
        geom = physics.geom_of(name)
        tips = {physics.geom_of(f"finger_{side}") for side in ("left", "right")}
        return any(
            geom in pair and not tips & {int(pair[0]), int(pair[1])} for pair in physics.data.contact.geom
        )

    def put_beside(self, name: str) -> None:
        """Put an object, upright and at rest, on the nearest free place of the bench or of a bin."""
        physics = self._physics
        world, thing = physics.world, physics.world.objects[name]
        x, y, z, yaw = physics.object_pose(name)
        taken = [*world.fixtures(), *self._others(name), self._gripper()]
        half_length, half_width = thing.size[0] / 2 + ROOM, thing.size[1] / 2 + ROOM
        for px, py in _rings(x, y):
            low = world.support(px, py)
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
        self._stop(name)

    def _stop(self, name: str) -> None:
        velocity = self._physics.bench.qvel[name]
        self._physics.data.qvel[velocity : velocity + 6] = 0.0

    def _others(self, name: str) -> Iterator[Footprint]:
        physics = self._physics
        for other, thing in physics.world.objects.items():
            if other != name:
                x, y, z, yaw = physics.object_pose(other)
                low = z - GRIP_HEIGHT
                # A thing that fell over may reach as far as its longest side.
                half = thing.size[:2] if physics.upright(other) else (max(thing.size), max(thing.size))
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
