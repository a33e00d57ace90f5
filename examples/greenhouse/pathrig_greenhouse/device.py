"""The greenhouse's tools."""

from typing import Literal

from pydantic import Field

from pathrig.device import Device, Effect, NoArguments, Tool, ToolArguments, ToolResult


class Opening(ToolArguments):
    """How far the vent is to be open."""

    percent: float = Field(ge=0.0, le=100.0, description="0 is shut, 100 wide open")


class Power(ToolArguments):
    """On or off."""

    power: Literal["on", "off"] = Field(description="on or off")


class Minutes(ToolArguments):
    """How long to wait."""

    minutes: float = Field(gt=0.0, le=720.0, description="minutes, at most 720")


class Climate(ToolResult):
    """What the sensors show: air temperature in whole degrees Celsius, and whether the air is damp."""

    temperature: int
    damp: bool


class Settings(ToolResult):
    """What vent, heater and lamp are set to."""

    vent_percent: float
    heater: Literal["on", "off"]
    lamp: Literal["on", "off"]


GREENHOUSE = Device(
    "greenhouse",
    "A greenhouse with a vent, a heater and a lamp.",
    (
        Tool("set_vent", "Open or shut the vent.", Opening, Settings, Effect.WRITE, sets=("vent",)),
        Tool("set_heater", "Turn the heater of {heater_w:g} W on or off.", Power, Settings, Effect.WRITE),
        Tool("set_lamp", "Turn the lamp of {lamp_w:g} W on or off.", Power, Settings, Effect.WRITE),
        Tool("wait", "Let time pass.", Minutes, Climate, Effect.WRITE),
        Tool("read_climate", "Read both sensors.", NoArguments, Climate, Effect.READ),
        Tool("read_settings", "Read what is set.", NoArguments, Settings, Effect.READ),
    ),
)
