"""Interventions that make a call of the bench's arm harmless: those of every arm, and its own."""

from __future__ import annotations

from sims.arm.aid import Aid
from sims.arm.interventions import ARM_INTERVENTIONS, Aided
from sims.intervention import by_name

BESIDE = Aided("beside", Aid(passes_through=True, release="beside"))
"""The object set down beside the other one instead of on it."""
BENCH_INTERVENTIONS = by_name((*ARM_INTERVENTIONS.values(), BESIDE))
