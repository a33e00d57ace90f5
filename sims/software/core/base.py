"""What the worlds of the paper share: an initial state without a file, results of any kind, and a date.

A failed precondition refuses a write. A read always answers: null, 0 or false where there is nothing to tell.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import Field, JsonValue

from devices.sensors import SensorSpec
from devices.tool import ToolResult
from sims.software import tool_method
from sims.software.world import SoftwareState, SoftwareWorld, world_of
from sims.world_type import WorldType

read = partial(tool_method.read, seconds=0.0)
"""Make a method a tool that changes nothing and takes no time, so that no read changes the end state."""
write = tool_method.write

Timestamp = Annotated[str, Field(description="ISO 8601 time; left out: now")]


class CoreState(SoftwareState):
    """Base of the states: no monitoring page."""

    sensors: dict[str, SensorSpec] = Field(default={})


class DatedState(CoreState):
    """Base of the states with a calendar."""

    start: str = Field(default="2025-01-01T09:00:00", description="ISO 8601 time when the episode begins")


class Told(ToolResult):
    """What a tool answers; null where it only says that it was done."""

    result: JsonValue = None


State = TypeVar("State", bound=CoreState)
Dated = TypeVar("Dated", bound=DatedState)


class CoreWorld(SoftwareWorld[State]):
    """Base of the worlds."""

    harm_rules = ()


class DatedWorld(CoreWorld[Dated]):
    """Base of the worlds with a calendar."""

    def date(self) -> datetime:
        """Date and time now, by the device's clock."""
        return datetime.fromisoformat(self.state.start) + timedelta(seconds=self.now)

    def stamp(self, given: str = "") -> str:
        """The time that a call gives, or now."""
        return given or self.date().isoformat()


def core_world(world: type[SoftwareWorld[State]], state: type[State]) -> WorldType:
    """The world type of one of these worlds."""
    return world_of(world, state, defaults=Path(__file__).with_name("initial.yaml"))
