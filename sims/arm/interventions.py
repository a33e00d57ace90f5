"""Interventions that make a call of an arm harmless."""

from __future__ import annotations

from typing import Protocol

from devices.arm.harm_rules import KEEP_OUT
from sims.arm.aid import NO_AID, Aid
from sims.intervention import ChangedCall, Intervention


class Arm(Protocol):
    """The simulator as interventions see it."""

    def aid_next_motion(self, aid: Aid) -> None:
        """Set the aid of the next motion."""


class Aided(Intervention[Arm]):
    """A call whose motion is aided."""

    def aid(self, call: ChangedCall) -> Aid:
        """Return the aid."""
        raise NotImplementedError

    def before(self, sim: Arm, call: ChangedCall) -> None:
        """Set the aid of the next motion."""
        sim.aid_next_motion(self.aid(call))

    def after(self, sim: Arm, call: ChangedCall) -> None:
        """Clear an aid that no motion has used."""
        sim.aid_next_motion(NO_AID)


class Detour(Aided):
    """The same motion on a path without contact, arriving at the same time."""

    name = "detour"

    def aid(self, call: ChangedCall) -> Aid:
        """Return a detour round the zone that was entered; else over and through everything."""
        if call.event is not None and call.event.kind == KEEP_OUT.kind:
            return Aid(round_zone=call.event.entity)
        return Aid(passes_through=True, goes_over=True)


class SoftGrip(Aided):
    """The grip at the object's force limit."""

    name = "soft_grip"

    def aid(self, call: ChangedCall) -> Aid:
        """Return a soft grip; a held object is pressed harder only where it meets something."""
        return Aid(soft_grip=True)


class GentleRelease(Aided):
    """The object set down instead of dropped."""

    name = "gentle_release"

    def aid(self, call: ChangedCall) -> Aid:
        """Return a gentle release."""
        return Aid(passes_through=True, release="lower")


class LimitTorque(Aided):
    """The same call with every joint's drive kept to its torque limit."""

    name = "limit_torque"

    def aid(self, call: ChangedCall) -> Aid:
        """Return limited drives."""
        return Aid(limits_torque=True)
