"""The tool by which a rig lets time pass."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from devices.tool import Echoes, Effect, Tool, ToolArguments, ToolResult

LONGEST_WAIT_S = 600.0


class Wait(ToolArguments):
    """How long to wait."""

    seconds: float = Field(gt=0.0, le=LONGEST_WAIT_S, description="how long, in seconds")


class Waited(ToolResult):
    """How long it was to wait."""

    seconds: Annotated[float, Echoes()]


WAIT = Tool(
    "wait",
    f"Do nothing for some seconds, {LONGEST_WAIT_S:g} at most.",
    Wait,
    Waited,
    Effect.READ,
)
"""It changes nothing of the rig: what goes on by itself goes on."""
