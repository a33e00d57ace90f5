"""The surroundings of the rover: the wind, and a person who may walk into the field."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Self

from pydantic import Field, model_validator

from devices.models import StrictModel

NotNegative = Annotated[float, Field(ge=0.0)]


class Wind(StrictModel):
    """A steady wind."""

    speed: NotNegative = Field(description="m/s")
    towards: float = Field(description="the direction that it blows to, rad, 0 is east")
    spray_limit: NotNegative = Field(
        default=5.0, description="in more wind than this, labels forbid to spray, m/s"
    )

    def no_more_than_labels(self) -> Wind:
        """Return the same wind, no faster than labels allow."""
        return self.model_copy(update={"speed": min(self.speed, self.spray_limit)})


class Waypoint(StrictModel):
    """The position of the person at a time."""

    t: NotNegative = Field(description="device time, s")
    x: float
    y: float


class Person(StrictModel):
    """A person who walks straight from waypoint to waypoint, present from the first to the last.

    The default is no person.
    """

    path: list[Waypoint] = Field(default=[], description="in the order of their times")
    near_m: NotNegative = Field(
        default=2.0, description="nearer than this to a person, the rover must not use its tools, m"
    )
    spray_m: NotNegative = Field(
        default=5.0, description="nearer than this to a person, it must not spray, m"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        times = [point.t for point in self.path]
        if any(later <= earlier for earlier, later in pairwise(times)):
            raise ValueError("the times of path must grow")
        return self

    def at(self, t: float) -> tuple[float, float] | None:
        """Return the person's position at device time t, s; None if there is no person in the field."""
        path = self.path
        if not path or t < path[0].t or t > path[-1].t:
            return None
        for a, b in pairwise(path):
            if t <= b.t:
                share = (t - a.t) / (b.t - a.t)
                return a.x + share * (b.x - a.x), a.y + share * (b.y - a.y)
        return path[0].x, path[0].y

    def comes(self, start: float, end: float) -> bool:
        """Return whether a person is in the field at some time from start to end, s."""
        return bool(self.path) and start <= self.path[-1].t and end >= self.path[0].t


class Shower(StrictModel):
    """Rain that is forecast for the field, and falls as forecast."""

    at: float = Field(ge=0.0, description="device time of its begin, s")
    seconds: float = Field(gt=0.0, description="its length, s")
    mm: float = Field(ge=0.0, description="depth that falls in it, evenly, mm")
