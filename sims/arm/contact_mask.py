"""Collision masks of counterfactuals: an arm and its load pass through things, an object is set down."""

from __future__ import annotations

import mujoco

from sims.arm import scene_parts
from sims.arm.physics import ArmPhysics

LOWERING = 0.0005
"""Step by which an object is lowered until it stands, m."""


class ContactMask:
    """Disables collisions of the arm and its targets while a call is made harmless."""

    def __init__(self, physics: ArmPhysics) -> None:
        self._physics = physics
        self.active = False
        self._ghosts: set[str] = set()

    def apply(self, target: str | None) -> None:
        """Let the arm and the target pass through everything but each other, the bench and bins' floors."""
        physics, model = self._physics, self._physics.model
        self.active = True
        model.geom_conaffinity[:] = physics.bench.conaffinity & ~scene_parts.ARM
        if target is not None:
            self._ghosts.add(target)
        for name in self._ghosts:
            geom = physics.bench.geom[name]
            model.geom_contype[geom] = scene_parts.HELD
            model.geom_conaffinity[geom] = scene_parts.FLOOR | (scene_parts.ARM if name == target else 0)

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
        self.stop(name)
        while data.qpos[start + 2] > 0.0:
            data.qpos[start + 2] -= LOWERING
            mujoco.mj_forward(physics.model, data)
            if self._supported(name):
                break

    def _supported(self, name: str) -> bool:
        physics = self._physics
        geom, fingers = physics.bench.geom[name], physics.fingers
        return any(
            geom in pair and not fingers & {int(pair[0]), int(pair[1])} for pair in physics.data.contact.geom
        )

    def stop(self, name: str) -> None:
        """Take an object's motion away."""
        velocity = self._physics.bench.qvel[name]
        self._physics.data.qvel[velocity : velocity + 6] = 0.0
