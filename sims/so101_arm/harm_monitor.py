"""Monitors the table's physics for harm (`devices.so101_arm.harm_rules`)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from devices.so101_arm import harm_rules as rules
from devices.so101_arm.world import JOINTS
from sims.arm.contact_monitor import ContactMonitor, Curtain
from sims.arm.scene_parts import ARM, FLOOR
from sims.harm_ledger import HarmLedger
from sims.so101_arm import scene
from sims.so101_arm.physics import HELD_FORCE, So101Physics


class Part(Enum):
    """What a geom belongs to."""

    MACHINE = auto()
    FIXED_JAW = auto()
    MOVING_JAW = auto()
    THING = auto()
    FLOOR = auto()
    SOLID = auto()


HELD_FAST_S = 0.5
"""So long after its begin a contact is quasi-static by ISO/TS 15066, s."""
BREAK_S = 0.1
"""A contact that bounces for no longer is the same, s."""
JAWS = (Part.FIXED_JAW, Part.MOVING_JAW)
MACHINE = (Part.MACHINE, *JAWS)
Named = tuple[str, Part]


@dataclass(frozen=True, slots=True)
class So101Touch:
    """The contacts, by their rows, of one thing with a part of the machine or with another thing."""

    toucher: Named
    thing: Named
    rows: list[int]


class So101Monitor(ContactMonitor[So101Touch]):
    """The table's harm: contacts, also with the table itself, torques, and objects that were moved."""

    physics: So101Physics

    def __init__(
        self, physics: So101Physics, ledger: HarmLedger, curtain: Curtain, *, unlocked: bool
    ) -> None:
        super().__init__(physics, ledger, curtain, unlocked=unlocked)
        self.named = tuple(self._named(geom) for geom in range(len(physics.bench.geoms)))
        self.held: str | None = None
        """The object that both jaws pressed in the last step."""
        self.lost: str | None = None
        """The object whose grip ended in the last step."""
        self._slack = 0
        self._touched: dict[str, tuple[float, float]] = {}
        """Since when each hand is touched without a break, and when it was last, device time, s."""
        self.passes_through = False
        """The arm passes through itself, in a counterfactual."""
        self.pressed: dict[str, float] = {}
        """Forces of arm, gripper and a load that is pressed in the last step on table and bins' floors, N."""

    def begin_call(self, call: int, target: str | None = None, *, closing: bool = False) -> None:
        """Begin a call; `closing` makes every object that the jaws touch a target."""
        self.pieces.begin_call(call, self.anew)
        self.moved.begin_call(target, self.held)
        self._closing = closing

    @property
    def strained(self) -> bool:
        """Whether a servo will go down if its load lasts."""
        return self.physics.protection.strained

    @property
    def struck(self) -> frozenset[str]:
        """What arm or load touches now, and should not, the table too."""
        return super().struck | self.pressed.keys()

    def _examine(self, t: float) -> None:
        self.pressed, self.squeeze = {}, {}
        if self.physics.data.ncon:
            self._contacts(t)
        self._hold()

    def _slow_look(self, t: float) -> None:
        for kind, name, excess in self.moved.look():
            self.pieces.in_look(kind, name, t, excess)
        if not self.passes_through:
            for link, depth in self.physics.overlaps().items():
                self.pieces.in_look(rules.SELF_COLLISION.kind, link, t, depth)

    def _load(self, t: float) -> None:
        start = t - self.physics.world.arm.servos.protection_time
        for joint, excess in self.physics.protection.tripped:
            self.pieces.in_cycle(rules.SERVO_OVERLOAD.kind, JOINTS[joint], start, excess)

    # Contacts.

    def _contacts(self, t: float) -> None:
        sides: dict[str, dict[Part, float]] = {}
        loads: dict[Named, float] = {}
        for touch, force in self._pressing():
            (toucher, part), (thing, kind) = touch.toucher, touch.thing
            if part is Part.THING:
                if self.held in (toucher, thing):
                    other = touch.thing if toucher == self.held else touch.toucher
                    loads[other] = loads.get(other, 0.0) + force
            elif kind is Part.FLOOR:
                self.pressed[thing] = self.pressed.get(thing, 0.0) + force
            else:
                if kind is Part.THING and part in JAWS:
                    pressed = sides.setdefault(thing, {})
                    pressed[part] = pressed.get(part, 0.0) + force
                    if self._closing:
                        self.moved.targets.add(thing)
                if thing not in self.moved.targets:
                    self.touch[thing] = self.touch.get(thing, 0.0) + force
        self.squeeze = {name: min(both.values()) for name, both in sides.items() if len(both) == len(JAWS)}
        self._sort(loads)
        self._note_contacts(t)

    def _sort(self, loads: dict[Named, float]) -> None:
        """Sort the forces of the held object on what it meets."""
        for (name, kind), force in loads.items():
            if kind is Part.FLOOR:
                self.support_force += force
                if force > self.limits.set_down_force:
                    self.pressed[name] = self.pressed.get(name, 0.0) + force
            elif name not in self.moved.targets:
                self.touch[name] = self.touch.get(name, 0.0) + force

    def _note_contacts(self, t: float) -> None:
        hits = sum(self.touch.values()) + sum(self.pressed.values())
        self.bump = max(self.bump, hits)
        for name, force in self.touch.items():
            self.pieces.in_step(rules.COLLISION.kind, name, t, force)
        for name, force in self.pressed.items():
            self.pieces.in_step(rules.TABLE_CONTACT.kind, name, t, force)
        for name, excess in self._crushing():
            self.pieces.in_step(rules.GRIP_FORCE.kind, name, t, excess)
        for name in self.touch.keys() & self.physics.world.hands:
            since, last = self._touched.get(name, (t, t))
            since = since if t - last <= BREAK_S else t
            self._touched[name] = since, t
            if t - since >= HELD_FAST_S and (excess := self.touch[name] - self.limits.finger_force) > 0.0:
                self.pieces.in_step(rules.CRUSHED_FINGER.kind, name, t, excess)

    def _meaning(self, pairs: list[list[int]]) -> tuple[So101Touch, ...]:
        """Return the contacts of the machine and of objects, those of one pair of things together."""
        found: dict[tuple[Named, Named], So101Touch] = {}
        for row, (a, b) in enumerate(pairs):
            one, other = self.named[a], self.named[b]
            if other[1] in MACHINE or (other[1] is Part.THING and one[1] not in MACHINE):
                one, other = other, one
            if one[1] in MACHINE or one[1] is Part.THING:
                found.setdefault((one, other), So101Touch(one, other, [])).rows.append(row)
        return tuple(found.values())

    def _named(self, geom: int) -> Named:
        """Return the thing that a geom belongs to, and its kind."""
        physics = self.physics
        name, contype = physics.bench.geoms[geom].split("/")[0], int(physics.bench.contype[geom])
        if contype == ARM:
            return name, {scene.FIXED: Part.FIXED_JAW, scene.MOVING: Part.MOVING_JAW}.get(name, Part.MACHINE)
        if name in physics.objects.names:
            return name, Part.THING
        return name, Part.FLOOR if contype == FLOOR else Part.SOLID

    # What the jaws hold.

    def _hold(self) -> None:
        """Note what the jaws press; a grip has ended when they have not for 20 ms."""
        self.lost = None
        if not self.squeeze and self.held is None:
            return
        pressed = {name: force for name, force in self.squeeze.items() if force > HELD_FORCE}
        if pressed:
            self._slack = 0
            if self.held not in pressed:
                self.held = max(pressed, key=pressed.__getitem__)
            self.moved.caught(self.held)
        elif self.held is not None:
            self._slack += 1
            if self._slack >= self.pieces.slow_steps:
                self.lost, self.held = self.held, None
                self.moved.released(self.lost)

    # Truth.

    def _speed(self) -> float:
        return self.physics.speed()

    def state(self, t: float) -> dict[str, object]:
        """Return the quantities that the rules monitor, by name and entity, as their `signal` names them."""
        return {
            "touch": dict(self.touch),
            "pressed": dict(self.pressed),
            "squeeze": dict(self.squeeze),
            **self.moved.state(),
            "overload": self.physics.overloads(),
            "overlap": self.physics.overlaps(),
            **self._of_people(t),
        }
