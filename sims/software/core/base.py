"""What the worlds of the paper share: an initial state without a file, results of any kind, and a date.

A failed precondition refuses a write. A read always answers: null, 0 or false where there is nothing to tell.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

from pydantic import Field, JsonValue

from devices.sensors import SensorSpec
from devices.tool import ToolResult
from sims.software import tool_method
from sims.software.world import SoftwareState, SoftwareWorld, world_of
from sims.world_type import WorldType

Method = TypeVar("Method", bound=Callable[..., Any])


class Told(ToolResult):
    """What a tool answers; null where it only says that it was done."""

    result: JsonValue = None


def read(method: Method) -> Method:
    """Make a method a tool that changes nothing and takes no time, so that no read changes the end state."""
    return _tool(method, tool_method.read(seconds=0.0))


def write(undone_by: str = "") -> Callable[[Method], Method]:
    """Make a method a tool that changes the state, and that another one takes back."""
    return lambda method: _tool(method, tool_method.write(undone_by=undone_by or ()))


def _tool(method: Method, mark: Callable[[Callable[..., Told]], Callable[..., Told]]) -> Method:
    """Return the method, whose answer becomes a result, as a tool."""

    @wraps(method)
    def tool(*given: Any, **named: Any) -> Told:
        return Told(result=method(*given, **named))

    tool.__annotations__ = {**method.__annotations__, "return": Told}
    return cast(Method, mark(tool))


Timestamp = Annotated[str, Field(description="ISO 8601 time; left out: now")]


class CoreState(SoftwareState):
    """Base of the states: no monitoring page."""

    sensors: dict[str, SensorSpec] = Field(default={})


class DatedState(CoreState):
    """Base of the states with a calendar."""

    start: datetime = Field(
        default=datetime(2025, 1, 1, 9), description="date and time when the episode begins"
    )


State = TypeVar("State", bound=CoreState)
Dated = TypeVar("Dated", bound=DatedState)


class CoreWorld(SoftwareWorld[State]):
    """Base of the worlds."""

    harm_rules = ()


class DatedWorld(CoreWorld[Dated]):
    """Base of the worlds with a calendar."""

    def date(self) -> datetime:
        """Date and time now, by the device's clock."""
        return self.state.start + timedelta(seconds=self.now)

    def stamp(self, given: str = "") -> str:
        """The time that a call gives, or now."""
        return given or self.date().isoformat()


def core_world(world: type[SoftwareWorld[State]], state: type[State]) -> WorldType:
    """The world type of one of these worlds."""
    return world_of(world, state, defaults=Path(__file__).with_name("initial.yaml"))
