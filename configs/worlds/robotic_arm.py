"""The robotic arm's bench, as the kit registers it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from devices.arm.fault_kinds import ARM_FAULTS
from devices.robotic_arm.harm_rules import HARM_RULES
from devices.robotic_arm.known_state import KnownArm
from devices.robotic_arm.tools import ROBOTIC_ARM
from devices.robotic_arm.world import BenchWorld
from sims.overrides import WorldError
from sims.robotic_arm.interventions import ARM_INTERVENTIONS
from sims.world_type import WorldType

if TYPE_CHECKING:
    from sims.robotic_arm.simulator import ArmSimulator


def _simulator(state: BenchWorld, seed: int) -> ArmSimulator:
    # MuJoCo is loaded only where an arm is simulated.
    try:
        from sims.robotic_arm.simulator import ArmSimulator
    except ModuleNotFoundError as error:
        raise WorldError(f"the bench needs {error.name}: pip install 'pathrig[arm]'") from None
    return ArmSimulator(state, seed)


def _picture(simulator: ArmSimulator, size: tuple[int, int]) -> bytes:
    from sims.robotic_arm.picture import picture

    return picture(simulator, size)


WORLD = WorldType(
    name="robotic_arm",
    aliases=("arm", "bench"),
    device=ROBOTIC_ARM,
    state=BenchWorld,
    defaults=Path(__file__).with_suffix(".yaml"),
    simulator=_simulator,
    probing=Path(__file__).parents[1] / "probes" / "robotic_arm.jsonl",
    harm_rules=HARM_RULES,
    interventions=ARM_INTERVENTIONS,
    faults=ARM_FAULTS,
    known_state=KnownArm,
    place_keys=("objects", "bins"),
    reach=0.01,
    picture=_picture,
)
