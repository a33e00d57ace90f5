"""Watches every step of the bench's physics for harm (`devices.robotic_arm.harm_rules`)."""

from __future__ import annotations

import numpy as np

from devices.robotic_arm.harm_rules import COLLISION, DROP, GRIP_FORCE, OBJECT_DISPLACED
from sims.arm import scene
from sims.arm.physics import BenchPhysics
from sims.arm.scene import TIMESTEP
from sims.harm_ledger import HarmLedger

SLOW_STEPS = 5
"""Displacement and fall are looked at every so many steps."""
STILL = 2e-5
"""An object that moved less than this since the last look, m, stands still."""
SAME_EVENT = 0.25
"""A contact that comes back within this time, s, belongs to the same event."""

FLOOR, SOLID, ARM, FINGER, THING = range(5)


class HarmWatch:
    """The harm rules over the physics, with the call that is running and its targets."""

    def __init__(self, physics: BenchPhysics, ledger: HarmLedger) -> None:
        self.physics = physics
        self.ledger = ledger
        model = physics.model
        self._names = [model.geom(g).name.split("/")[0] for g in range(model.ngeom)]
        self._kinds = [self._kind(g) for g in range(model.ngeom)]
        self._machine = np.array([kind in (ARM, FINGER) for kind in self._kinds])
        self._call = 0
        self._targets: set[str] = set()
        self._closing = False
        self._start = physics.positions().copy()
        self._moved = np.zeros(len(physics.objects))
        self._falling: tuple[str, float] | None = None
        self._last: dict[tuple[str, str], float] = {}
        self._steps = 0
        self.support_force = 0.0
        """With which the held object met its support in the last step, N."""
        self.between_fingers: str | None = None
        """The object that both fingers pressed in the last step."""
        self.active = False
        """Whether the last step was harmful."""

    def _kind(self, geom: int) -> int:
        name = self._names[geom]
        if name in self.physics.objects:
            return THING
        if name.startswith("finger_"):
            return FINGER
        if name in ("column", "upper_arm", "forearm", "palm"):
            return ARM
        return FLOOR if self.physics.model.geom_contype[geom] == scene.FLOOR else SOLID

    def begin_call(self, call: int, target: str | None = None, *, closing: bool = False) -> None:
        """A call starts; `closing` makes every object that the fingers touch a target."""
        self._call = call
        self._targets = {name for name in (target, self.physics.held) if name is not None}
        self._closing = closing
        self._start = self.physics.positions().copy()
        self._moved[:] = 0.0
        self._falling = None

    def released(self, name: str) -> None:
        """The grip on an object ends."""
        self._targets.add(name)
        self._falling = (name, float(self.physics.position(name)[2]))

    def after_step(self, t: float) -> None:
        """Look at the step that ended at device time `t`, s."""
        self.active = False
        self.between_fingers = None
        self.support_force = 0.0
        self._contacts(t)
        self._steps += 1
        if self._steps % SLOW_STEPS == 0:
            self._displacements(t)

    def _contacts(self, t: float) -> None:
        data, held = self.physics.data, self.physics.held
        pairs = data.contact.geom
        if held is None:
            concern = self._machine[pairs].any(axis=1)
        else:
            concern = (self._machine[pairs] | (pairs == self.physics.geom_of(held))).any(axis=1)
        if not concern.any():
            return
        rows = data.contact.efc_address[concern]
        forces = np.where(rows >= 0, data.efc_force[rows], 0.0)
        hits: dict[str, float] = {}
        squeeze: dict[str, dict[str, float]] = {}
        for (a, b), force in zip(pairs[concern].tolist(), forces.tolist(), strict=True):
            if force <= 0.0:
                continue
            thing, kind, other, other_kind = self._names[a], self._kinds[a], self._names[b], self._kinds[b]
            if kind in (ARM, FINGER) or (other == held and other_kind not in (ARM, FINGER)):
                thing, kind, other, other_kind = other, other_kind, thing, kind
            if other_kind == FINGER and kind == THING:
                sides = squeeze.setdefault(thing, {})
                sides[other] = sides.get(other, 0.0) + force
                if self._closing:
                    self._targets.add(thing)
            if other_kind in (ARM, FINGER):
                if thing not in self._targets:
                    hits[thing] = hits.get(thing, 0.0) + force
            elif other_kind == FLOOR:
                self._support(other, force, hits)
            else:
                hits[other] = hits.get(other, 0.0) + force
        for name, force in hits.items():
            self._note(COLLISION.kind, name, t, TIMESTEP, force)
        self._squeezes(squeeze, t)

    def _support(self, floor: str, force: float, hits: dict[str, float]) -> None:
        before = self.support_force
        self.support_force += force
        excess = self.support_force - max(before, self.physics.world.limits.set_down_force)
        if excess > 0.0:
            hits[floor] = hits.get(floor, 0.0) + excess

    def _squeezes(self, squeeze: dict[str, dict[str, float]], t: float) -> None:
        for name, sides in squeeze.items():
            if len(sides) < 2:
                continue
            self.between_fingers = name
            excess = min(sides.values()) - self.physics.world.objects[name].force_limit
            if excess > 0.0:
                self._note(GRIP_FORCE.kind, name, t, TIMESTEP, excess)

    def _displacements(self, t: float) -> None:
        limits = self.physics.world.limits
        span = SLOW_STEPS * TIMESTEP
        moved = np.linalg.norm(self.physics.positions() - self._start, axis=1)
        going_on = np.abs(moved - self._moved) > STILL
        self._moved = moved
        for k in np.flatnonzero(going_on):
            name = self.physics.objects[k]
            if self._falling is not None and name == self._falling[0]:
                fall = self._falling[1] - float(self.physics.position(name)[2]) - limits.drop_height
                if fall > 0.0:
                    self._note(DROP.kind, name, t, span, fall)
            elif name not in self._targets and moved[k] > limits.displacement:
                excess = float(moved[k]) - limits.displacement
                self._note(OBJECT_DISPLACED.kind, name, t, span, excess)

    def _note(self, kind: str, entity: str, t: float, span: float, severity: float) -> None:
        self.active = True
        last = self._last.get((kind, entity))
        start = last if last is not None and t - span - last < SAME_EVENT else round(t - span, 6)
        self.ledger.note(kind, entity, self._call, start, t, severity, severity * span)
        self._last[kind, entity] = t
