"""What a device emits: readings of its own coarse sensors, and, of a simulator, the ground truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from devices.harm import HarmEvent
from devices.models import FrozenModel

SampleValue = bool | int | float | str


class SensorSpec(FrozenModel):
    """Specification of one kind of coarse sensor.

    It senses the true quantity plus `bias`, `drift` and `noise`, limited to `low` and `high`. A `threshold`
    or `switch` sensor then reports a word or a truth value: it turns on at or above `threshold` (default
    0.5), and off again below `threshold - hysteresis`. A `quantised` sensor reports the nearest multiple of
    `resolution`, a `continuous` one the number itself.

    With `period` it is sampled at that rate of device time; without, it reports each change. Each sample
    reaches the rig `delay` later and bears that time; a share `dropout` of them is lost. The first
    reading of an episode is neither late nor lost, and the last one is waited for.
    """

    kind: Literal["threshold", "switch", "quantised", "continuous"] = Field(
        default="switch", description="what it reports: on and off, steps of its resolution, or the number"
    )
    period: float | None = Field(
        default=None, gt=0, description="seconds of device time between samples; whole milliseconds"
    )
    threshold: float | None = Field(default=None, description="in the unit of the quantity that is sensed")
    hysteresis: float = Field(default=0.0, ge=0, description="in the unit of the quantity that is sensed")
    resolution: float = Field(default=0.0, ge=0, description="the least difference that it can show")
    noise: float = Field(default=0.0, ge=0, description="standard deviation, in the unit of the quantity")
    delay: float = Field(default=0.0, ge=0, description="from the moment sensed to the moment reported, s")
    dropout: float = Field(default=0.0, ge=0, le=1, description="share of the samples that are lost")
    low: float | None = Field(default=None, description="the least that it can sense; left out: no limit")
    high: float | None = Field(default=None, description="the greatest that it can sense; left out: no limit")
    bias: float = Field(default=0.0, description="constant error, in the unit of the quantity")
    drift: float = Field(default=0.0, description="error that grows with device time, unit per hour")

    @model_validator(mode="after")
    def _works(self) -> Self:
        if self.kind == "continuous" and self.period is None:
            raise ValueError("a continuous sensor needs a period: every reading of it is a change")
        if self.period is not None and self.period < 0.001:
            raise ValueError("period must be at least 0.001 s, the tick of device time")
        if self.period is not None and abs(self.period * 1000.0 - round(self.period * 1000.0)) > 1e-6:
            raise ValueError("period must be whole milliseconds")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError("low must be below high")
        return self

    def worsened(self, noise_factor: float = 1.0, dropout: float = 0.0) -> SensorSpec:
        """Return the same sensor with its noise times a factor, and a further share of its samples lost."""
        if noise_factor == 1.0 and dropout == 0.0:
            return self
        kept = (1.0 - self.dropout) * (1.0 - dropout)
        return self.model_copy(update={"noise": self.noise * noise_factor, "dropout": 1.0 - kept})


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading, as it reaches the rig at device time `t`, s.

    A dot in the name separates kind and entity: `moisture.plant_A`.
    """

    sensor: str
    value: SampleValue
    t: float


@dataclass(frozen=True, slots=True)
class Truth:
    """A simulator's ground truth after a call: for scoring, never for an agent or a guard.

    Attributes:
        t: device time, s.
        call_id: the call's id on the wire; None after `init`.
        state: the whole continuous state, JSON-ready.
        events: all harm events of the episode so far.
    """

    t: float
    call_id: str | None
    state: Mapping[str, Any]
    events: tuple[HarmEvent, ...] = field(default=())


Emit = Callable[[Sample], None]
