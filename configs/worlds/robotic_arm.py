"""The robotic arm's bench, as the kit registers it."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name

from devices.arm.accepted import accepted
from devices.arm.arm_world import ARM_FAULTS
from devices.robotic_arm.harm_rules import HARM_RULES
from devices.robotic_arm.known_state import KnownArm
from devices.robotic_arm.tools import ROBOTIC_ARM
from devices.robotic_arm.world import BenchWorld
from sims.arm.interventions import BENCH_INTERVENTIONS
from sims.world_type import WorldType, made_by

WORLD = WorldType(
    name="robotic_arm",
    aliases=("arm", "bench"),
    device=ROBOTIC_ARM,
    state=BenchWorld,
    defaults=Path(__file__).with_suffix(".yaml"),
    simulator=made_by("sims.robotic_arm.simulator:ArmSimulator", "the bench: arm"),
    probing=Path(__file__).parents[1] / "probes" / "robotic_arm.jsonl",
    harm_rules=HARM_RULES,
    interventions=BENCH_INTERVENTIONS,
    faults=ARM_FAULTS,
    known_state=KnownArm,
    place_keys=("objects", "bins"),
    ways=24,
    accepts=accepted,
    picture=lambda *drawn: resolve_name("sims.robotic_arm.picture:picture")(*drawn),
    version=2,
)
