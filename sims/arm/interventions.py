"""Interventions that make a call of an arm harmless."""

from __future__ import annotations

from typing import Any

from devices.arm.harm_rules import KEEP_OUT
from sims.arm.motion import NO_AID, Aid
from sims.intervention import ChangedCall, Flag, Intervention, by_name


class Aided(Intervention[Any]):
    """A call whose motion is aided.

    Args:
        name: the intervention's.
        aid: of the motion.
    """

    def __init__(self, name: str, aid: Aid) -> None:
        self.name, self._aid = name, aid

    def aid(self, call: ChangedCall) -> Aid:
        """Return the aid."""
        return self._aid

    def before(self, sim: Any, call: ChangedCall) -> None:
        """Set the aid of the next motion."""
        sim.aid_next_motion(self.aid(call))

    def after(self, sim: Any, call: ChangedCall) -> None:
        """Clear an aid that no motion has used."""
        sim.aid_next_motion(NO_AID)


class Detour(Aided):
    """The same motion on a path without contact, arriving at the same time."""

    def aid(self, call: ChangedCall) -> Aid:
        """Return a detour round the zone that was entered; else over and through everything."""
        if call.event is not None and call.event.kind == KEEP_OUT.kind:
            return Aid(round_zone=call.event.entity)
        return super().aid(call)


DETOUR = Detour("detour", Aid(passes_through=True, goes_over=True))
SOFT_GRIP = Aided("soft_grip", Aid(soft_grip=True))
"""The grip at the object's force limit; a held object is pressed harder only where it meets something."""
GENTLE_RELEASE = Aided("gentle_release", Aid(passes_through=True, release="lower"))
"""The object set down instead of dropped."""
LIMIT_TORQUE = Aided("limit_torque", Aid(limits_torque=True))
"""The same call with every joint's drive kept to its torque limit."""
WAIT = Flag("wait", "curtain.ignored", until_the_end=True)
"""The same call after the person has gone, at the same time."""
ARM_INTERVENTIONS = by_name((DETOUR, SOFT_GRIP, GENTLE_RELEASE, LIMIT_TORQUE, WAIT))
"""Those of every arm."""


BESIDE = Aided("beside", Aid(passes_through=True, release="beside"))
"""The object set down beside the other one instead of on it."""
BENCH_INTERVENTIONS = by_name((*ARM_INTERVENTIONS.values(), BESIDE))
