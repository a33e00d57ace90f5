"""The initial state that arms with a gripper share: bench, hidden parameters, faults. SI units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from devices.arm.bench_part import Name
from devices.arm.fault_kinds import ARM_FAULTS
from devices.arm.hidden import BenchHidden
from devices.arm.light_curtain import Break
from devices.arm.things import BenchObject, Bin, Obstacle
from devices.faults import Faults
from devices.models import FrozenModel
from devices.sensors import SensorSpec


class ArmWorld(FrozenModel):
    """An arm's bench. A world of an arm gives pose, home, arm, limits and sensors their types.

    Attributes:
        world_name: for messages.
    """

    world_name: ClassVar[str]

    safety_locked: bool = True
    gripper: Literal["open", "closed"] = "open"
    pose: Any = Field(description="of the fingertips at the start")
    home: Any = Field(description="where `home` goes")
    objects: Mapping[Name, BenchObject]
    bins: Mapping[Name, Bin]
    obstacles: Mapping[Name, Obstacle] = Field(default_factory=dict)
    light_curtain: tuple[Break, ...] = Field(
        default=(), description="times in which it is broken: the arm must stand still then"
    )
    arm: Any
    limits: Any
    slot_radius: float = Field(
        default=0.02, gt=0.0, description="an object this near to a slot's centre is in it, m"
    )
    sensors: Mapping[Any, SensorSpec]
    hidden: BenchHidden = Field(default=BenchHidden(), description="what the rig does not know of itself")
    faults: Faults = Field(default=Faults(), description="of this episode")

    @field_validator("faults")
    @classmethod
    def _can_have(cls, faults: Faults) -> Faults:
        return faults.of_a(cls.world_name, ARM_FAULTS)
