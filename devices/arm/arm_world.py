"""The initial state that arms with a gripper share: bench, hidden parameters, faults. SI units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from devices.arm.things import BenchObject, Bin, Name, Obstacle
from devices.faults import FaultKind, Faults
from devices.hidden import hidden
from devices.models import FrozenModel
from devices.sensors import SensorSpec

ARM_FAULTS = (
    FaultKind("weak_gripper", "the gripper is weak; the strength is the lost share of its force", share=True),
)


class BenchHidden(FrozenModel):
    """Hidden parameters of a bench; all nominal, the physics is that of the world as written."""

    friction: float = hidden(1.0, 0.6, 1.4, "factor on the sliding friction of every object")
    mass: float = hidden(1.0, 0.8, 1.25, "factor on the mass of every object")
    grip_force: float = hidden(1.0, 0.7, 1.2, "force of the fingers over the commanded force")
    sensor_noise: float = hidden(1.0, 0.5, 2.0, "factor on the noise of every sensor", "log")
    dropout: float = hidden(0.0, 0.0, 0.1, "share of the sensors' samples that are lost")


class Break(FrozenModel):
    """A time in which the light curtain is broken."""

    at: float = Field(ge=0.0, description="device time at which it begins, s")
    seconds: float = Field(gt=0.0, description="how long")


def is_broken(breaks: Iterable[Break], t: float) -> bool:
    """Return whether the light curtain is broken at device time `t`, s."""
    return any(one.at <= t < one.at + one.seconds for one in breaks)


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
