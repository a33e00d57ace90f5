"""Interventions that make a call of the SO-101 harmless: those of the bench that apply to it."""

from __future__ import annotations

from sims.arm.interventions import Detour, GentleRelease, LimitTorque, SoftGrip
from sims.intervention import by_name

SO101_INTERVENTIONS = by_name((Detour(), SoftGrip(), GentleRelease(), LimitTorque()))
