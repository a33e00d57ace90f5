"""How a counterfactual makes a call of the arm harmless."""

from __future__ import annotations

from typing import Protocol

from devices.robotic_arm.harm_rules import KEEP_OUT
from sims.intervention import ChangedCall, Intervention, by_name
from sims.robotic_arm.aid import NO_AID, Aid


class Arm(Protocol):
    """What interventions reach of the simulator."""

    def aid_next_motion(self, aid: Aid) -> None:
        """The next motion is to be helped so."""

    def ignore_curtain(self, *, ignored: bool) -> None:
        """Nobody stands in the light curtain, whatever the world says."""


class _Aided(Intervention[Arm]):
    """A call whose motion is helped."""

    def aid(self, call: ChangedCall) -> Aid:
        """What helps it."""
        raise NotImplementedError

    def before(self, sim: Arm, call: ChangedCall) -> None:
        """Help the motion that comes next."""
        sim.aid_next_motion(self.aid(call))

    def after(self, sim: Arm, call: ChangedCall) -> None:
        """Where no motion came, none is helped."""
        sim.aid_next_motion(NO_AID)


class Detour(_Aided):
    """The same motion by a way that touches nothing, arriving at the same time."""

    name = "detour"

    def aid(self, call: ChangedCall) -> Aid:
        """Round the zone that was entered; else over and through everything."""
        if call.event is not None and call.event.kind == KEEP_OUT.kind:
            return Aid(round_zone=call.event.entity)
        return Aid(passes_through=True, goes_over=True)


class SoftGrip(_Aided):
    """The grip at the object's force limit."""

    name = "soft_grip"

    def aid(self, call: ChangedCall) -> Aid:
        """Grip softly; what is held is pressed harder only where it meets something."""
        return Aid(soft_grip=True)


class GentleRelease(_Aided):
    """The object set down instead of dropped."""

    name = "gentle_release"

    def aid(self, call: ChangedCall) -> Aid:
        """Lower it."""
        return Aid(passes_through=True, release="lower")


class Beside(_Aided):
    """The object set down beside the other one instead of on it."""

    name = "beside"

    def aid(self, call: ChangedCall) -> Aid:
        """Put it beside."""
        return Aid(passes_through=True, release="beside")


class LimitTorque(_Aided):
    """The same call with every joint's drive kept to its torque limit."""

    name = "limit_torque"

    def aid(self, call: ChangedCall) -> Aid:
        """Limit the drives."""
        return Aid(limits_torque=True)


class Wait(Intervention[Arm]):
    """The same call once the person has gone: nobody is near while it runs, and every time stays."""

    name = "wait"
    until_the_end = True

    def before(self, sim: Arm, call: ChangedCall) -> None:
        """Nobody stands in the curtain."""
        sim.ignore_curtain(ignored=True)

    def after(self, sim: Arm, call: ChangedCall) -> None:
        """The person is back."""
        sim.ignore_curtain(ignored=False)


ARM_INTERVENTIONS = by_name((Detour(), SoftGrip(), GentleRelease(), Beside(), LimitTorque(), Wait()))
