"""Faults that a rig may suffer in an episode: at set times, or drawn by the episode's seed."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

FaultKind = Literal[
    "link_delay",
    "link_loss",
    "stuck_sensor",
    "wheel_slip",
    "clogged_nozzle",
    "stuck_valve",
    "weak_gripper",
    "reset",
]
LINK_FAULTS = ("link_delay", "link_loss")
"""Faults of the way to the rig: nothing in the world changes."""
SHARES = ("link_loss", "wheel_slip", "clogged_nozzle", "stuck_valve", "weak_gripper")
"""Kinds whose strength is a share."""
PARTS = {
    "wheel_slip": "farm_rover",
    "clogged_nozzle": "farm_rover",
    "stuck_valve": "farm_rover",
    "weak_gripper": "robotic_arm",
}
"""Kinds that only one type of device can have."""
DEFAULT_STRENGTH = 1.0
KIND_MEANINGS = (
    "link_delay (strength in s), link_loss (strength a probability), stuck_sensor, wheel_slip (strength the "
    "lost share of a wheel's way), clogged_nozzle (the lost share of the flow), stuck_valve (the share of "
    "the flow that goes on after closing), weak_gripper (the lost share of its force), reset (the board "
    "starts anew; the running call ends in a fault)"
)

Seconds = Annotated[float, Field(ge=0.0)]
Strength = Annotated[float, Field(ge=0.0)]


class FaultPart(BaseModel):
    """Base: no unknown keys, finite numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def _check(kind: str, entity: str | None, strongest: float) -> None:
    if (kind == "stuck_sensor") != (entity is not None):
        raise ValueError("a stuck_sensor needs the sensor's name as entity, and no other fault takes one")
    if kind in SHARES and strongest > 1.0:
        raise ValueError(f"the strength of {kind} is a share: at most 1")


class Fault(FaultPart):
    """One fault, from a time on, for a time."""

    kind: FaultKind = Field(description=KIND_MEANINGS)
    at: Seconds = Field(description="device time at which it begins, s")
    seconds: float | None = Field(
        default=None, gt=0.0, description="how long; left out: to the end. A reset takes no time"
    )
    strength: Strength = Field(default=DEFAULT_STRENGTH, description="how strong, as the kind says")
    entity: str | None = Field(
        default=None, description="the sensor of a stuck_sensor, such as moisture.plant_A"
    )

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        _check(self.kind, self.entity, self.strength)
        return self


class FaultRate(FaultPart):
    """Faults of a kind drawn by the seed: a Poisson process."""

    kind: FaultKind = Field(description="as in a fault of the schedule")
    per_hour: float = Field(gt=0.0, le=3600.0, description="mean number in an hour of device time")
    seconds: float = Field(default=60.0, gt=0.0, description="mean length, exponentially distributed, s")
    strength: tuple[Strength, Strength] = Field(
        default=(DEFAULT_STRENGTH, DEFAULT_STRENGTH), description="least and greatest, uniformly distributed"
    )
    entity: str | None = Field(default=None, description="the sensor of a stuck_sensor")

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.strength[0] > self.strength[1]:
            raise ValueError("strength is the least, then the greatest")
        _check(self.kind, self.entity, self.strength[1])
        return self


class Faults(FaultPart):
    """The faults of an episode."""

    schedule: tuple[Fault, ...] = Field(default=(), description="at set times")
    random: tuple[FaultRate, ...] = Field(default=(), description="drawn by the episode's seed")

    @property
    def of_link(self) -> Faults:
        """Those of the link alone."""
        return Faults(
            schedule=tuple(fault for fault in self.schedule if fault.kind in LINK_FAULTS),
            random=tuple(rate for rate in self.random if rate.kind in LINK_FAULTS),
        )

    def of_a(self, device: str) -> Self:
        """Themselves, where a device of that type can have them.

        Raises:
            ValueError: it lacks what is to fail.
        """
        for kind in (*(fault.kind for fault in self.schedule), *(rate.kind for rate in self.random)):
            if PARTS.get(kind, device) != device:
                raise ValueError(f"a {device} has no {kind}, only a {PARTS[kind]} has")
        return self

    @property
    def stuck_sensors(self) -> frozenset[str]:
        """The sensors that some of them may stick."""
        named = (*(fault.entity for fault in self.schedule), *(rate.entity for rate in self.random))
        return frozenset(entity for entity in named if entity is not None)
