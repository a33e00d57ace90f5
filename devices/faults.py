"""Faults of a rig in an episode: at set times, or drawn by the episode's seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import Field, model_validator

from devices.models import FrozenModel


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of fault.

    Attributes:
        name: as in an entry of `faults`.
        meaning: its effect, and what its strength is.
        share: its strength is a share, at most 1.
        of_link: it affects the link to the rig, and nothing in the world.
    """

    name: str
    meaning: str
    share: bool = False
    of_link: bool = False


STUCK_SENSOR, RESET, OUT_OF_ORDER = "stuck_sensor", "reset", "out_of_order"
NAME_AN_ENTITY = {STUCK_SENSOR: "sensor", OUT_OF_ORDER: "tool"}
"""Kinds that are faults of one thing, and what it is."""
COMMON_FAULTS = (
    FaultKind(
        "link_delay", "messages take longer; the strength is the delay of each message, s", of_link=True
    ),
    FaultKind("link_loss", "messages are lost; the strength is a probability", share=True, of_link=True),
    FaultKind(STUCK_SENSOR, "the sensor named by `entity` repeats its last value"),
    FaultKind(RESET, "the board starts anew, and the running call ends in a fault"),
)
"""Kinds of every simulated rig. A world adds its own."""
LINK_FAULTS = frozenset(kind.name for kind in COMMON_FAULTS if kind.of_link)
DEFAULT_STRENGTH = 1.0

Seconds = Annotated[float, Field(ge=0.0)]
Strength = Annotated[float, Field(ge=0.0)]


def _check_entity(kind: str, entity: str | None) -> None:
    thing = NAME_AN_ENTITY.get(kind)
    if thing is not None and entity is None:
        raise ValueError(f"{kind} needs the {thing}'s name as entity")
    if thing is None and entity is not None:
        raise ValueError(f"a {kind} takes no entity; only these do: {', '.join(NAME_AN_ENTITY)}")


class Fault(FrozenModel):
    """One fault, from a time on, for a time."""

    kind: str = Field(description="what fails: a kind that every rig has, or one of its world's own")
    at: Seconds = Field(description="device time at which it begins, s")
    seconds: float | None = Field(
        default=None, gt=0.0, description="how long; left out: to the end. A reset takes no time"
    )
    strength: Strength = Field(default=DEFAULT_STRENGTH, description="how strong, in the unit of its kind")
    entity: str | None = Field(
        default=None,
        description="the stuck sensor, such as moisture.plant_A, or the tool that is out of order",
    )

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        _check_entity(self.kind, self.entity)
        return self


class FaultRate(FrozenModel):
    """Faults of a kind drawn by the seed: a Poisson process."""

    kind: str = Field(description="as in a fault of the schedule")
    per_hour: float = Field(gt=0.0, le=3600.0, description="mean number in an hour of device time")
    seconds: float = Field(default=60.0, gt=0.0, description="mean length, exponentially distributed, s")
    strength: tuple[Strength, Strength] = Field(
        default=(DEFAULT_STRENGTH, DEFAULT_STRENGTH), description="least and greatest, uniformly distributed"
    )
    entity: str | None = Field(default=None, description="as in a fault of the schedule")

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.strength[0] > self.strength[1]:
            raise ValueError("strength is the least, then the greatest")
        _check_entity(self.kind, self.entity)
        return self


class Faults(FrozenModel):
    """The faults of an episode."""

    schedule: tuple[Fault, ...] = Field(default=(), description="at set times")
    random: tuple[FaultRate, ...] = Field(default=(), description="drawn by the episode's seed")

    @property
    def of_link(self) -> Faults:
        """The faults of the link."""
        return Faults(
            schedule=tuple(fault for fault in self.schedule if fault.kind in LINK_FAULTS),
            random=tuple(rate for rate in self.random if rate.kind in LINK_FAULTS),
        )

    def of_a(self, device: str, own: Sequence[FaultKind] = ()) -> Self:
        """Check the faults against the kinds of a device type; `own` are the kinds that its world adds.

        Raises:
            ValueError: there is no such kind, or a share is above 1.
        """
        kinds = {kind.name: kind for kind in (*COMMON_FAULTS, *own)}
        strongest = [(f"schedule.{i}", one.kind, one.strength) for i, one in enumerate(self.schedule)]
        strongest += [(f"random.{i}", one.kind, one.strength[1]) for i, one in enumerate(self.random)]
        for where, name, strength in strongest:
            kind = kinds.get(name)
            if kind is None:
                raise ValueError(f"{where}.kind: a {device} has no {name}; it has {', '.join(kinds)}")
            if kind.share and strength > 1.0:
                raise ValueError(f"{where}.strength: the strength of {name} is a share: at most 1")
        return self

    @property
    def stuck_sensors(self) -> frozenset[str]:
        """The sensors that some of the faults may stick."""
        return self.entities_of(STUCK_SENSOR)

    @property
    def name_things(self) -> bool:
        """Whether some name a sensor or a tool, which must be there."""
        return any(entity is not None for _, entity in self._named)

    def entities_of(self, kind: str) -> frozenset[str]:
        """The entities that faults of this kind name."""
        return frozenset(entity for name, entity in self._named if name == kind and entity is not None)

    @property
    def _named(self) -> list[tuple[str, str | None]]:
        scheduled = [(fault.kind, fault.entity) for fault in self.schedule]
        return scheduled + [(rate.kind, rate.entity) for rate in self.random]
