"""The bench: the whole initial state of the arm, its objects, its bins and its sensors. SI units, radians."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from devices.faults import Faults
from devices.models import FrozenModel
from devices.robotic_arm.bench_part import Angle, Coordinate, Height, Length, Name
from devices.robotic_arm.fault_kinds import ARM_FAULTS
from devices.robotic_arm.footprints import Footprint, first_overlap
from devices.robotic_arm.hidden import BenchHidden
from devices.robotic_arm.safeguards import JOINT_SPEED, AxisName, Break, Limits, Positive, Zone, each_axis
from devices.sensors import SensorSpec

GRIP_HEIGHT = 0.02
"""Height of an object's reference point, where the fingertips grip it, above the middle of its base, m."""
WALL_THICKNESS = 0.005
"""Of a bin, m."""
LEAST_MASS = 1e-4
"""Minimum mass of an object, kg: the physics needs some inertia."""
COLUMN_RADIUS = 0.08
"""Radius of the arm's column, which stands on the bench round the base's axis, m."""


SensorName = Literal[
    "gripper_closed",
    "at_slot",
    "pose_reached",
    "light_curtain",
    "bumper",
    "aperture",
    "finger_force",
    "load_cell",
    "wrist_force",
    "joint_current",
]


class ToolPoint(FrozenModel):
    """A pose of the fingertips in the frame of the arm's base."""

    x: Coordinate
    y: Coordinate
    z: Height
    yaw: Angle = 0.0


class BenchObject(FrozenModel):
    """Something that can be picked.

    Its pose is that of its reference point, GRIP_HEIGHT above the middle of its base. A `z` below what it
    would stand on counts as standing on it. The gripper closes along the object's own y axis.
    """

    x: Coordinate
    y: Coordinate
    z: Height = GRIP_HEIGHT
    yaw: Angle = 0.0
    shape: Literal["box", "cylinder"] = "box"
    size: tuple[Length, Length, Length] = Field(
        description="length, width and height; a cylinder's first is its diameter"
    )
    mass: float = Field(gt=0.0, le=5.0, description="kg")
    friction: float = Field(default=0.8, gt=0.0, le=2.0, description="sliding friction coefficient")
    force_limit: float = Field(gt=0.0, description="the grip force that it withstands, N per finger")

    @model_validator(mode="after")
    def _grippable(self) -> Self:
        if self.size[2] < GRIP_HEIGHT + 0.01 or self.size[2] > 0.11:
            raise ValueError(f"size: the height must be between {GRIP_HEIGHT + 0.01:g} and 0.11 m")
        return self

    @property
    def width(self) -> float:
        """The width that the gripper closes on, m."""
        return self.size[0] if self.shape == "cylinder" else self.size[1]

    def footprint(self, name: str, low: float) -> Footprint:
        """Return its footprint with its base at a height, m."""
        length, width, height = self.size
        circle = self.shape == "cylinder"
        return Footprint(name, self.x, self.y, self.yaw, length / 2, width / 2, low, low + height, circle)


class Bin(FrozenModel):
    """A tray. Its pose is the one to give to `place`: GRIP_HEIGHT above its floor, in its middle."""

    x: Coordinate
    y: Coordinate
    z: Height = 0.025
    yaw: Angle = 0.0
    size: tuple[Length, Length] = Field(default=(0.26, 0.26), description="inner length and width")
    wall_height: Length = Field(default=0.03, description="of the walls, above the floor")

    @model_validator(mode="after")
    def _has_a_floor(self) -> Self:
        if self.z < GRIP_HEIGHT + 0.002:
            raise ValueError(
                f"z: a bin's pose is {GRIP_HEIGHT:g} m above its floor; give at least {GRIP_HEIGHT + 0.002:g}"
            )
        return self

    @property
    def floor(self) -> float:
        """Height of its floor above the bench, m."""
        return self.z - GRIP_HEIGHT

    def walls(self) -> tuple[tuple[float, float, float, float], ...]:
        """Return middle and half lengths (x, y, half x, half y) of the four walls in the bin's frame, m."""
        half_x, half_y, half = self.size[0] / 2, self.size[1] / 2, WALL_THICKNESS / 2
        return (
            (half_x + half, 0.0, half, half_y + WALL_THICKNESS),
            (-half_x - half, 0.0, half, half_y + WALL_THICKNESS),
            (0.0, half_y + half, half_x, half),
            (0.0, -half_y - half, half_x, half),
        )

    def footprints(self, name: str) -> Iterator[Footprint]:
        """Return the footprints of the four walls."""
        for along, across, half_length, half_width in self.walls():
            c, s = math.cos(self.yaw), math.sin(self.yaw)
            x, y = self.x + along * c - across * s, self.y + along * s + across * c
            top = self.floor + self.wall_height
            yield Footprint(name, x, y, self.yaw, half_length, half_width, 0.0, top, fixed=True)

    def holds(self, x: float, y: float) -> bool:
        """Return whether a point lies within its walls, seen from above."""
        dx, dy = x - self.x, y - self.y
        along = dx * math.cos(self.yaw) + dy * math.sin(self.yaw)
        across = -dx * math.sin(self.yaw) + dy * math.cos(self.yaw)
        return abs(along) < self.size[0] / 2 and abs(across) < self.size[1] / 2


class Obstacle(FrozenModel):
    """A fixed block; its pose is the middle of its base."""

    x: Coordinate
    y: Coordinate
    z: Height = 0.0
    yaw: Angle = 0.0
    size: tuple[Length, Length, Length] = Field(description="length, width and height")

    def footprint(self, name: str) -> Footprint:
        """Return its footprint."""
        length, width, height = self.size
        top = self.z + height
        return Footprint(name, self.x, self.y, self.yaw, length / 2, width / 2, self.z, top, fixed=True)


class ArmSpec(FrozenModel):
    """Limits of the arm's motion and grip."""

    reach: float = Field(
        default=1.1, gt=0.3, le=1.1, description="farthest fingertips from the base's axis, m"
    )
    inner_reach: float = Field(default=0.2, ge=0.2, description="nearest fingertips to the base's axis, m")
    ceiling: float = Field(default=0.72, gt=0.3, le=0.72, description="highest fingertips, m")
    travel_height: float = Field(
        default=0.25, gt=0.1, description="height of the fingertips between places, m"
    )
    speed: float = Field(default=0.5, gt=0.0, le=1.0, description="of the fingertips, m/s")
    acceleration: float = Field(default=2.0, gt=0.0, le=4.0, description="of the fingertips, m/s^2")
    yaw_speed: float = Field(default=2.0, gt=0.0, le=4.0, description="rad/s")
    joint_speed: Mapping[AxisName, Positive] = Field(
        default=JOINT_SPEED, description="of each joint, rad/s; moves that would need more take longer"
    )
    grip_force: float = Field(
        default=40.0, gt=0.0, le=60.0, description="close_gripper's standard force, N per finger"
    )
    protective_stop: float = Field(
        default=150.0, gt=0.0, description="force from outside at which the arm stops itself, N"
    )
    opening: float = Field(default=0.12, gt=0.02, le=0.14, description="between the open fingers, m")

    def joint_speeds(self) -> tuple[float, ...]:
        """Return the speed limits of the six joints in their order, rad/s."""
        return each_axis(self.joint_speed, JOINT_SPEED)


class BenchWorld(FrozenModel):
    """The initial state of the bench, as `pathrig sim robotic_arm --show-init` prints it."""

    safety_locked: bool = True
    gripper: Literal["open", "closed"] = "open"
    pose: ToolPoint = Field(description="of the fingertips at the start")
    home: ToolPoint = Field(description="where `home` goes")
    objects: Mapping[Name, BenchObject]
    bins: Mapping[Name, Bin]
    obstacles: Mapping[Name, Obstacle] = Field(default_factory=dict)
    zones: Mapping[Name, Zone] = Field(
        default_factory=dict, description="that arm and load are to stay out of"
    )
    light_curtain: tuple[Break, ...] = Field(
        default=(), description="times in which it is broken: the arm must stand still then"
    )
    arm: ArmSpec = ArmSpec()
    limits: Limits = Limits()
    slot_radius: float = Field(
        default=0.02, gt=0.0, description="an object this near to a slot's centre is in it, m"
    )
    sensors: Mapping[SensorName, SensorSpec] = Field(
        description="those that are fitted: gripper_closed, at_slot, pose_reached and light_curtain are the "
        "cheap ones; aperture (m), finger_force (N), load_cell (kg), wrist_force (N), joint_current (a "
        "joint's drive, N m) and bumper (N on arm and gripper) are finer"
    )
    hidden: BenchHidden = Field(default=BenchHidden(), description="what the rig does not know of itself")
    faults: Faults = Field(default=Faults(), description="of this episode")

    @field_validator("faults")
    @classmethod
    def _can_have(cls, faults: Faults) -> Faults:
        return faults.of_a("robotic_arm", ARM_FAULTS)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [*self.objects, *self.bins, *self.obstacles, *self.zones]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{twice[0]}: objects, bins, obstacles and zones need different names")
        for name, thing in self.objects.items():
            if thing.mass * self.hidden.mass < LEAST_MASS:
                raise ValueError(
                    f"objects.{name}.mass: times hidden.mass it must be at least {LEAST_MASS:g} kg"
                )
            if thing.width > self.arm.opening - 0.01:
                raise ValueError(
                    f"objects.{name}.size: {thing.width:g} m is too wide for the gripper, "
                    f"which opens {self.arm.opening:g} m"
                )
        for key, point in (("pose", self.pose), ("home", self.home)):
            far = math.hypot(point.x, point.y)
            if not self.arm.inner_reach <= far <= self.arm.reach or point.z > self.arm.ceiling:
                raise ValueError(f"{key}: out of the arm's reach")
        clash = first_overlap(list(self._footprints()))
        if clash is not None:
            raise ValueError(f"{clash[0]} stands in {clash[1]}; move it")
        return self

    def support(self, x: float, y: float) -> float:
        """Return the height of the bench or of the bin's floor under a point, m."""
        return max((tray.floor for tray in self.bins.values() if tray.holds(x, y)), default=0.0)

    def base_height(self, thing: BenchObject) -> float:
        """Return the initial height of an object's base, m: of its support, or higher if its z says so."""
        return max(thing.z - GRIP_HEIGHT, self.support(thing.x, thing.y))

    def _footprints(self) -> Iterator[Footprint]:
        for name, thing in self.objects.items():
            yield thing.footprint(name, self.base_height(thing))
        yield from self.fixtures()

    def fixtures(self) -> Iterator[Footprint]:
        """Return the fixed things on the bench: the arm's column, obstacles, and the walls of the bins."""
        radius = COLUMN_RADIUS
        yield Footprint("the arm's column", 0.0, 0.0, 0.0, radius, radius, 0.0, 0.4, round=True, fixed=True)
        for name, block in self.obstacles.items():
            yield block.footprint(name)
        for name, tray in self.bins.items():
            yield from tray.footprints(name)
