"""The SO-101 on its table, as the kit registers it."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name

from devices.arm.accepted import accepted
from devices.arm.arm_world import ARM_FAULTS
from devices.so101_arm.harm_rules import HARM_RULES
from devices.so101_arm.interlocks import KnownSo101
from devices.so101_arm.tools import SO101_ARM
from devices.so101_arm.world import So101World
from sims.arm.interventions import ARM_INTERVENTIONS
from sims.world_type import WorldType, made_by

WORLD = WorldType(
    name="so101_bench",
    aliases=("so101",),
    device=SO101_ARM,
    state=So101World,
    defaults=Path(__file__).with_suffix(".yaml"),
    simulator=made_by("sims.so101_arm.simulator:So101Simulator", "the SO-101: so101"),
    probing=Path(__file__).parents[1] / "probes" / "so101_bench.jsonl",
    harm_rules=HARM_RULES,
    interventions=ARM_INTERVENTIONS,
    faults=ARM_FAULTS,
    known_state=KnownSo101,
    place_keys=("objects", "bins"),
    ways=24,
    accepts=accepted,
    tasks=Path(__file__).parent / "so101_tasks",
    picture=lambda *drawn: resolve_name("sims.so101_arm.picture:picture")(*drawn),
    version=3,
    removed=("arm.protective_stop", "limits.joint_torque"),
)
