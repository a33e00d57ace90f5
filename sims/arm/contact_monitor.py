"""What the monitors of both arms share: forces of contacts, pieces of harm, loads of the drives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from devices.arm import harm_rules
from devices.arm.arm_world import Break, is_broken
from sims.arm import scene_parts
from sims.arm.harm_pieces import HarmPieces
from sims.arm.moved_objects import MovedObjects
from sims.harm_ledger import HarmLedger


@dataclass
class Curtain:
    """The light curtain with its scheduled breaks; `ignored` where a counterfactual waits for them to end."""

    breaks: tuple[Break, ...]
    ignored: bool = False

    def broken(self, t: float) -> bool:
        """Return whether it is broken at device time `t`, s."""
        return bool(self.breaks) and not self.ignored and is_broken(self.breaks, t)


class Contacts(Protocol):
    """The contacts of two things, by their rows."""

    @property
    def rows(self) -> list[int]:
        """Their rows."""


C = TypeVar("C", bound=Contacts)


class ContactMonitor(ABC, Generic[C]):
    """Evaluates the harm rules over the physics, for the running call and its targets.

    Contacts are examined in every step that has any, and torques in every step; everything else every 20 ms.
    """

    anew: ClassVar[tuple[str, ...]] = (harm_rules.LIGHT_CURTAIN.kind,)
    """Harm that pauses, however briefly, before a call that does it again is an event of that call; harm
    that does not pause belongs to the earlier call."""

    def __init__(self, physics: Any, ledger: HarmLedger, curtain: Curtain, *, unlocked: bool) -> None:
        self.physics = physics
        self.curtain = curtain
        self.unlocked = unlocked
        self.limits = physics.world.limits
        self.pieces = HarmPieces(ledger, scene_parts.TIMESTEP)
        self.moved = MovedObjects(physics.objects, self.limits.displacement, self.limits.drop_height)
        self._closing = False
        self._seen: tuple[bytes, str | None] | None = None
        self._touches: tuple[C, ...] = ()
        self.touch: dict[str, float] = {}
        """Forces in the last step on things that are not targets, N."""
        self.squeeze: dict[str, float] = {}
        """Forces with which both sides of the gripper press objects, N."""
        self.support_force = 0.0
        """Force with which the held object met its support in the last step, N."""
        self.bump = 0.0
        """Peak of the forces on arm and gripper since it was last set to 0, N."""

    @property
    def struck(self) -> frozenset[str]:
        """What arm or load touches now, and should not."""
        return frozenset(self.touch)

    @property
    def strained(self) -> bool:
        """Whether a load on the drives will be harm if it lasts, though nothing moves."""
        return False

    def end_call(self) -> None:
        """Evaluate what is evaluated over the motion of a call that ends."""
        return

    def after_step(self, t: float) -> None:
        """Evaluate the step that ended at device time `t`, s."""
        self.pieces.begin_step(t)
        self.support_force = 0.0
        self.touch = {}
        self._examine(t)
        self._load(t)
        if self.pieces.looks():
            self.catch_up()
            self._slow_look(t)
            if self.unlocked and self.curtain.broken(t):
                excess = self._speed() - self.limits.still_speed
                if excess > 0.0:
                    kind = harm_rules.LIGHT_CURTAIN.kind
                    self.pieces.in_look(kind, kind, t, excess)

    @abstractmethod
    def _examine(self, t: float) -> None:
        """Evaluate the contacts of a step."""

    @abstractmethod
    def _load(self, t: float) -> None:
        """Evaluate the torques of a step."""

    def catch_up(self) -> None:
        """Evaluate what is left of the steps so far; called before other harm is noted."""
        return

    @abstractmethod
    def _slow_look(self, t: float) -> None:
        """Evaluate what is evaluated every 20 ms."""

    @abstractmethod
    def _speed(self) -> float:
        """Return the greater of the fingertips' and the fingers' speed, m/s."""

    def _of_people(self, t: float) -> dict[str, object]:
        """Return what the rule of the light curtain monitors."""
        return {"light_curtain": "broken" if self.curtain.broken(t) else "clear", "speed": self._speed()}

    @abstractmethod
    def _meaning(self, pairs: list[list[int]]) -> tuple[C, ...]:
        """Return the contacts that mean something, those of one pair of things together."""

    def _pressing(self, held: str | None = None) -> list[tuple[C, float]]:
        """Return the contacts that press, with forces, N; their meaning may depend on what is held."""
        data = self.physics.data
        contact = data.contact
        pairs = contact.geom
        seen = pairs.tobytes(), held
        if seen != self._seen:
            self._seen, self._touches = seen, self._meaning(pairs.tolist())
        if not self._touches:
            return []
        rows, forces = contact.efc_address.tolist(), data.efc_force.tolist()
        # A contact without a row exerts no force.
        forces.append(0.0)
        pressing = [(touch, sum([forces[rows[k]] for k in touch.rows])) for touch in self._touches]
        return [one for one in pressing if one[1] > 0.0]

    def _crushing(self) -> Iterator[tuple[str, float]]:
        """Yield what is pressed harder than it bears, and by how much, N."""
        for name, force in self.squeeze.items():
            if (excess := force - self.physics.world.objects[name].force_limit) > 0.0:
                yield name, excess
