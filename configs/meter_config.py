"""The power meter that a rig's file names: a plug behind an MQTT broker, or a Modbus meter."""

from __future__ import annotations

from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from devices.models import FrozenModel
from firmware_bridge.links import LINK_TYPES

MQTT, MODBUS = "mqtt", ("modbus", "serial")
RegisterType = Literal["uint16", "int16", "uint32", "int32", "float32"]


class MeterQuestion(FrozenModel):
    """A message after which a plug tells its power."""

    topic: str = Field(description="where it is published", min_length=1)
    payload: str = Field(default="", description="its payload")


class MeterConfig(FrozenModel):
    """A power meter of the machine that computes the agent; it is read alone, never switched."""

    name: str = Field(default="meter", min_length=1, description="what the log calls it")
    url: str = Field(
        description="the broker, mqtt://[user[:pass]@]host[:port] or mqtts://...; or a Modbus meter, "
        "modbus://HOST[:502] or serial:///dev/ttyUSB0?baud=9600"
    )
    topic: str | None = Field(default=None, min_length=1, description="MQTT: where the plug reports")
    key: str | None = Field(
        default=None,
        min_length=1,
        description="MQTT: the dotted key of the power in a JSON payload; left out: the payload is a number",
    )
    ask: MeterQuestion | None = Field(
        default=None, description="MQTT: published every `every` seconds, for a plug that reports too rarely"
    )
    address: int | None = Field(default=None, ge=0, le=65535, description="Modbus: the register, from 0")
    registers: Literal["input", "holding"] = Field(
        default="input", description="Modbus: the kind of register"
    )
    type: RegisterType = Field(default="uint16", description="Modbus: its number, the high word first")
    unit: int = Field(default=1, ge=0, le=255, description="Modbus: the device's id")
    scale: float = Field(default=1.0, gt=0, description="W for a reading of 1")
    every: float = Field(default=1.0, ge=0.1, le=60, description="seconds between two questions")
    longest_gap: float = Field(
        default=10.0,
        gt=0,
        le=600,
        description="seconds without a reading after which the energy of an episode is unknown",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        scheme = urlsplit(self.url).scheme
        known = LINK_TYPES.get(scheme)
        by_broker = known is not None and known.family == MQTT
        if not by_broker and scheme not in MODBUS:
            raise ValueError(f"a meter's url is one of {', '.join((MQTT, *MODBUS))}, not {scheme or 'none'}")
        wanted, other = ("topic", "address") if by_broker else ("address", "topic")
        if getattr(self, wanted) is None or getattr(self, other) is not None:
            raise ValueError(f"a meter at {scheme}: needs `{wanted}`, and has no `{other}`")
        if self.topic is not None and any(sign in self.topic for sign in "+#"):
            raise ValueError("a meter has one topic, without + and #")
        if self.longest_gap <= self.every:
            raise ValueError("`longest_gap` is longer than `every`")
        return self
