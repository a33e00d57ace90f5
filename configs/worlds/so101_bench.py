"""The SO-101 on its table, as the kit registers it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from devices.arm.fault_kinds import ARM_FAULTS
from devices.so101_arm.harm_rules import HARM_RULES
from devices.so101_arm.known_state import KnownSo101
from devices.so101_arm.tools import SO101_ARM
from devices.so101_arm.world import So101World
from sims.overrides import WorldError
from sims.so101_arm.interventions import SO101_INTERVENTIONS
from sims.world_type import WorldType

if TYPE_CHECKING:
    from sims.so101_arm.simulator import So101Simulator


def _simulator(state: So101World, seed: int) -> So101Simulator:
    # MuJoCo is loaded only where an arm is simulated.
    try:
        from sims.so101_arm.simulator import So101Simulator
    except ModuleNotFoundError as error:
        raise WorldError(f"the SO-101 needs {error.name}: pip install 'pathrig[so101]'") from None
    return So101Simulator(state, seed)


def _picture(simulator: So101Simulator, size: tuple[int, int]) -> bytes:
    from sims.so101_arm.picture import picture

    return picture(simulator, size)


WORLD = WorldType(
    name="so101_bench",
    aliases=("so101",),
    device=SO101_ARM,
    state=So101World,
    defaults=Path(__file__).with_suffix(".yaml"),
    simulator=_simulator,
    probing=Path(__file__).parents[1] / "probes" / "so101_bench.jsonl",
    harm_rules=HARM_RULES,
    interventions=SO101_INTERVENTIONS,
    faults=ARM_FAULTS,
    known_state=KnownSo101,
    place_keys=("objects", "bins"),
    reach=0.01,
    tasks=Path(__file__).parent / "so101_tasks",
    picture=_picture,
)
