"""Things on a bench: objects that can be picked, bins and obstacles. SI units, radians."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from devices.arm.footprints import Footprint
from devices.models import FrozenModel

BENCH_LIMIT = 1.5
"""Maximum distance of a thing from the arm's base, m."""

Coordinate = Annotated[float, Field(ge=-BENCH_LIMIT, le=BENCH_LIMIT)]
Height = Annotated[float, Field(ge=0.0, le=BENCH_LIMIT)]
Angle = Annotated[float, Field(ge=-2 * math.pi, le=2 * math.pi)]
Length = Annotated[float, Field(gt=0.0, le=1.0)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]


GRIP_HEIGHT = 0.02
"""Height of an object's reference point, where the fingertips grip it, above the middle of its base, m."""
WALL_THICKNESS = 0.005
"""Of a bin, m."""
LEAST_MASS = 1e-4
"""Minimum mass of an object, kg: the physics needs some inertia."""


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


class Block(FrozenModel):
    """A box; its pose is the middle of its base."""

    x: Coordinate
    y: Coordinate
    z: Height = 0.0
    yaw: Angle = 0.0
    size: tuple[float, ...]


class Obstacle(Block):
    """A fixed block; its pose is the middle of its base."""

    size: tuple[Length, Length, Length] = Field(description="length, width and height")

    def footprint(self, name: str) -> Footprint:
        """Return its footprint."""
        length, width, height = self.size
        top = self.z + height
        return Footprint(name, self.x, self.y, self.yaw, length / 2, width / 2, self.z, top, fixed=True)


def lies_in(block: Block, x: float, y: float, z: float) -> bool:
    """Return whether a point, m, lies in a block."""
    dx, dy = x - block.x, y - block.y
    along = dx * math.cos(block.yaw) + dy * math.sin(block.yaw)
    across = dy * math.cos(block.yaw) - dx * math.sin(block.yaw)
    length, width, height = block.size
    return abs(along) < length / 2 and abs(across) < width / 2 and block.z <= z < block.z + height
