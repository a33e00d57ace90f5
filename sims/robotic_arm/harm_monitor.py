"""Monitors the bench's physics for harm (`devices.robotic_arm.harm_rules`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from devices.robotic_arm import harm_rules as rules
from devices.robotic_arm.safeguards import AXES as AXIS_NAMES
from sims.arm import scene_parts
from sims.arm.contact_monitor import ContactMonitor, Curtain
from sims.arm.geometry import Array
from sims.harm_ledger import HarmLedger
from sims.robotic_arm import quantities
from sims.robotic_arm.physics import AXES, BenchPhysics

OBSERVER_TIME = 0.02
"""Time constant, s, with which an arm without a force sensor estimates a force from outside by its joints'
momentum: a gain of 50/s (De Luca et al., "Collision detection and safe reaction with the DLR-III", 2006)."""
MACHINE = "arm"
"""Entity of harm that concerns no other thing."""

FLOOR, SOLID, ARM, FINGER, THING = range(5)


@dataclass(frozen=True, slots=True)
class BenchTouch:
    """Meaning of contacts: what is touched, and whether a finger presses it, it is hit, or stood upon."""

    thing: str
    finger: str | None
    hit: str | None
    floor: str | None
    rows: list[int]


class BenchMonitor(ContactMonitor[BenchTouch]):
    """The bench's harm: contacts, torques, loads on objects, the light curtain and zones."""

    anew = (*ContactMonitor.anew, rules.KEEP_OUT.kind, rules.PEAK_TORQUE.kind)
    physics: BenchPhysics

    def __init__(
        self, physics: BenchPhysics, ledger: HarmLedger, curtain: Curtain, *, unlocked: bool
    ) -> None:
        super().__init__(physics, ledger, curtain, unlocked=unlocked)
        means, peaks = self.limits.torques(), self.limits.peaks()
        self.loads = GearLoads(means, peaks, scene_parts.TIMESTEP, self.pieces.slow_steps)
        """The loads on the gears since the running motion began."""
        self._far = {name: zone.nearest() for name, zone in physics.world.zones.items()}
        self._put: dict[str, dict[str, float]] = {}
        self._pressed: dict[tuple[str, str], float] = {}
        """Of each object and finger, the sum of the forces in the steps since the last look, N."""
        self._span = scene_parts.TIMESTEP
        self.outside_force = 0.0
        """Force from outside on arm, gripper and held object, low-passed as by a collision observer, N."""
        self._outside = 0.0
        self.between_fingers: str | None = None
        """The object that both fingers pressed in the last step."""

    def begin_call(self, call: int, target: str | None = None, *, closing: bool = False) -> None:
        """Begin a call; `closing` makes every object that the fingers touch a target."""
        self.loads.begin()
        self.pieces.begin_call(call, self.anew)
        self.moved.begin_call(target, self.physics.held)
        self._closing = closing
        self._seen = None

    def end_call(self) -> None:
        """End a cycle of load: its mean is known."""
        if self.loads.start is not None and (excess := self.loads.overload) > 0.0:
            self.pieces.in_cycle(rules.JOINT_TORQUE.kind, MACHINE, self.loads.start, excess)

    def released(self, name: str) -> None:
        """End the grip on an object."""
        self.moved.released(name)
        self._put[name] = {}
        self._seen = None

    def _examine(self, t: float) -> None:
        self.between_fingers, self._outside = None, 0.0
        if self.physics.data.ncon:
            self._contacts(t)
        self.outside_force += (self._outside - self.outside_force) * self._span / OBSERVER_TIME

    def _load(self, t: float) -> None:
        data = self.physics.data
        self.loads.after_step(data.qfrc_actuator[:AXES], data.qvel[:AXES], t)

    def catch_up(self) -> None:
        """Note the peaks of the steps since the last time."""
        for t, excess in self.loads.evaluate():
            self.pieces.in_step(rules.PEAK_TORQUE.kind, MACHINE, t, excess)

    # Contacts.

    def _contacts(self, t: float) -> None:
        hits: dict[str, float] = {}
        sides: dict[str, list[float]] = {}
        for touch, force in self._pressing(self.physics.held):
            if touch.finger is None and touch.thing != self.physics.held:
                self._outside += force
            if touch.finger is not None:
                sides.setdefault(touch.thing, []).append(force)
                pair = touch.thing, touch.finger
                self._pressed[pair] = self._pressed.get(pair, 0.0) + force
                if self._closing and touch.thing not in self.moved.targets:
                    self.moved.targets.add(touch.thing)
                    self._seen = None
            if touch.floor is not None:
                self._support(touch.floor, force, hits)
            elif touch.hit is not None and touch.hit not in self.moved.targets:
                hits[touch.hit] = hits.get(touch.hit, 0.0) + force
        self.touch = hits
        if hits:
            self.bump = max(self.bump, sum(hits.values()))
            self.catch_up()
            for name, force in hits.items():
                self.pieces.in_step(rules.COLLISION.kind, name, t, force)
        for name, pressed in sides.items():
            # What both fingers press takes itself up.
            self._outside += abs(pressed[0] - sum(pressed[1:]))
            if len(pressed) == 2:
                self.between_fingers = name

    def _support(self, floor: str, force: float, hits: dict[str, float]) -> None:
        before = self.support_force
        self.support_force += force
        excess = self.support_force - max(before, self.limits.set_down_force)
        if excess > 0.0:
            hits[floor] = hits.get(floor, 0.0) + excess

    def _meaning(self, pairs: list[list[int]]) -> tuple[BenchTouch, ...]:
        """Return the meanings of the contacts of the machine and of the held object."""
        found: dict[tuple[str, str], BenchTouch] = {}
        for row, (a, b) in enumerate(pairs):
            one, other = self._named(a), self._named(b)
            if self._is_machine(one) or (one[0] == self.physics.held and not self._is_machine(other)):
                one, other = other, one
            if not self._is_machine(other) and other[0] != self.physics.held:
                continue
            (thing, kind), (toucher, other_kind) = one, other
            if (thing, toucher) not in found:
                finger = toucher if other_kind == FINGER and kind == THING else None
                hit, floor = (None, thing) if kind == FLOOR and other_kind == THING else (thing, None)
                found[thing, toucher] = BenchTouch(thing, finger, hit, floor, [])
            found[thing, toucher].rows.append(row)
        return tuple(found.values())

    def _named(self, geom: int) -> tuple[str, int]:
        """Return the thing that a geom belongs to, and its kind."""
        name = self.physics.bench.geoms[geom].split("/")[0]
        if name in self.physics.objects.names:
            return name, THING
        if name.startswith("finger_"):
            return name, FINGER
        if name in ("column", *quantities.ARM_PARTS):
            return name, ARM
        return name, FLOOR if self.physics.bench.contype[geom] == scene_parts.FLOOR else SOLID

    def _is_machine(self, named: tuple[str, int]) -> bool:
        return named[1] in (ARM, FINGER)

    def _speed(self) -> float:
        return quantities.speed(self.physics)

    # Evaluated every 20 ms.

    def _slow_look(self, t: float) -> None:
        physics = self.physics
        self._mean_squeeze()
        for name, excess in self._crushing():
            self.pieces.in_look(rules.GRIP_FORCE.kind, name, t, excess)
        # The arm, its load, and anything else that may move are awake.
        if physics.data.ntree_awake != (1 if physics.held is None else 2):
            for kind, name, excess in self.moved.look():
                self.pieces.in_look(kind, name, t, excess)
        self._remember_loads()
        for name, load in self._stacked().items():
            if load > self.limits.stacked_load:
                self.pieces.in_look(rules.STACKING.kind, name, t, load - self.limits.stacked_load)
        if physics.world.zones:
            physics.sync()
            for zone in physics.world.zones:
                if quantities.farthest(physics) < self._far[zone]:
                    continue
                depth = quantities.intrusion(physics, zone)
                if depth > 0.0:
                    self.pieces.in_look(rules.KEEP_OUT.kind, zone, t, depth)

    def _mean_squeeze(self) -> None:
        """Take the means since the last look: of a step alone, contacts that chatter, or that turn hard as a
        grip ends, have any force."""
        sides: dict[str, list[float]] = {}
        for (name, _), total in self._pressed.items():
            sides.setdefault(name, []).append(total / self.pieces.slow_steps)
        self._pressed = {}
        self.squeeze = {name: min(both) for name, both in sides.items() if len(both) == 2}

    def _remember_loads(self) -> None:
        """Keep the loads while they are computed: sleeping objects have no contacts, and lie as before."""
        physics = self.physics
        self._put.pop(physics.held or "", None)
        for name in self._put:
            if physics.awake(name):
                self._put[name] = quantities.loads(physics, name)

    def _stacked(self) -> dict[str, float]:
        """Return the weight on each object of those that were released and not held again, N."""
        found: dict[str, float] = {}
        for name, lay in self._put.items():
            loads = quantities.loads(self.physics, name) if self.physics.awake(name) else lay
            for other, load in loads.items():
                found[other] = found.get(other, 0.0) + load
        return found

    # Truth.

    def state(self, t: float) -> dict[str, object]:
        """Return the quantities that the rules monitor, by name and entity, as their `signal` names them."""
        physics = self.physics
        return {
            "touch": dict(self.touch),
            "squeeze": dict(self.squeeze),
            **self.moved.state(),
            "stacked": self._stacked(),
            "intrusion": {zone: quantities.intrusion(physics, zone) for zone in physics.world.zones},
            **self._of_people(t),
            "overload": self.loads.overload,
            "peak_overload": self.loads.peak_overload,
            "joint_torques": dict(zip(AXIS_NAMES, self.loads.torques.tolist(), strict=True)),
        }


LEAST_TURN = 0.02
"""A joint that turns less in a cycle, rad, has no mean: it holds still, and wears nothing."""


class GearLoads:
    """Loads of one cycle, the motion of a call.

    Harmonic Drive rates a gear (component sets CSF, "limit for average torque" and "limit for repeated peak
    torque") by the cube root of the mean of the torque's cube over a load cycle, weighted by the output's
    turn, and by the greatest torque of its starts and stops.

    Args:
        means, peaks: those limits of each drive, N m.
        timestep: of the physics, s.
        most: greatest number of steps that are evaluated at once.
    """

    def __init__(self, means: Sequence[float], peaks: Sequence[float], timestep: float, most: int) -> None:
        self._means, self._peaks = np.array(means), np.array(peaks)
        self._timestep = timestep
        self._given = np.zeros((most, len(means)))
        self._times: list[float] = []
        self._sums = np.zeros((1 + most, 2, len(means)))
        """Turns of the joints, rad, and the integrals over them of the torques' cubes; then what is added."""
        self.torques = np.zeros(len(means))
        """Of the last step that was evaluated, without their signs, N m."""
        self.start: float | None = None
        """Device time at which the cycle began, s; None: nothing has moved yet."""

    def begin(self) -> None:
        """Begin a cycle with the next step."""
        self._sums[:], self._given[:] = 0.0, 0.0
        self.start = None

    def after_step(self, torques: Array, speeds: Array, t: float) -> None:
        """Take the torques, N m, and speeds, rad/s, of the step that ended at device time `t`, s."""
        if self.start is None:
            self.start = t - self._timestep
        row = len(self._times)
        self._given[row], self._sums[row + 1, 0] = torques, speeds
        self._times.append(t)

    def evaluate(self) -> list[tuple[float, float]]:
        """Evaluate the steps since the last time; return times, s, and amounts of peaks above limits."""
        count = len(self._times)
        if not count:
            return []
        torques, sums = np.abs(self._given[:count]), self._sums[: count + 1]
        turns, cubes = sums[1:, 0], sums[1:, 1]
        np.abs(turns, out=turns)
        turns *= self._timestep
        np.multiply(torques**3, turns, out=cubes)
        # Added in turn, so that the sums do not depend on how many steps are evaluated at once.
        np.add.accumulate(sums, out=sums)
        self._sums[0], self.torques = sums[-1], torques[-1]
        times, self._times = self._times, []
        above = torques - self._peaks
        if above.max() <= 0.0:
            return []
        return [(t, most) for t, most in zip(times, above.max(axis=1).tolist(), strict=True) if most > 0.0]

    @property
    def overload(self) -> float:
        """What the worst joint's mean of the cycle so far is above its limit, N m; at least 0."""
        turns, cubes = self._sums[0]
        turned = turns >= LEAST_TURN
        means = np.cbrt(cubes[turned] / turns[turned])
        return float((means - self._means[turned]).max(initial=0.0))

    @property
    def peak_overload(self) -> float:
        """What the worst joint's torque of the last evaluated step is above its peak's limit, N m, or 0."""
        return max(0.0, float((self.torques - self._peaks).max()))
