"""Coarse sensors: what a rig's own cheap sensors report, and how coarsely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

SampleValue = bool | int | float | str


class SensorSpec(BaseModel):
    """How one kind of coarse sensor works.

    A `threshold` sensor reports a word or a truth value for a continuous quantity: it turns on at or above
    `threshold`, and off again below `threshold - hysteresis`. With `period` it is sampled at that rate of
    device time; without, it reports each change (and one reading at the start and at the end).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["threshold", "switch", "quantised"] = "switch"
    period: float | None = Field(default=None, gt=0, description="seconds of device time between samples")
    threshold: float | None = Field(default=None, description="in the unit of the quantity that is sensed")
    hysteresis: float = Field(default=0.0, ge=0, description="in the unit of the quantity that is sensed")
    resolution: float = Field(default=0.0, ge=0, description="the least difference that it can show")
    noise: float = Field(default=0.0, ge=0, description="standard deviation, in the unit of the quantity")


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading at device time `t`, s. A dot in the name parts kind and entity: `moisture.plant_A`."""

    sensor: str
    value: SampleValue
    t: float
