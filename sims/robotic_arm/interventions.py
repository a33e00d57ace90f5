"""Interventions that make a call of the bench's arm harmless: those of every arm, and its own."""

from __future__ import annotations

from typing import Protocol

from sims.arm.aid import Aid
from sims.arm.interventions import Aided, Detour, GentleRelease, LimitTorque, SoftGrip
from sims.intervention import ChangedCall, Intervention, by_name


class WithCurtain(Protocol):
    """The simulator of an arm behind a light curtain."""

    def ignore_curtain(self, *, ignored: bool) -> None:
        """Treat the light curtain as free, or end that."""


class Beside(Aided):
    """The object set down beside the other one instead of on it."""

    name = "beside"

    def aid(self, call: ChangedCall) -> Aid:
        """Return a release beside the other object."""
        return Aid(passes_through=True, release="beside")


class Wait(Intervention[WithCurtain]):
    """The same call after the person has gone, at the same time."""

    name = "wait"
    until_the_end = True

    def before(self, sim: WithCurtain, call: ChangedCall) -> None:
        """Free the curtain."""
        sim.ignore_curtain(ignored=True)

    def after(self, sim: WithCurtain, call: ChangedCall) -> None:
        """Restore the curtain."""
        sim.ignore_curtain(ignored=False)


ARM_INTERVENTIONS = by_name((Detour(), SoftGrip(), GentleRelease(), Beside(), LimitTorque(), Wait()))
