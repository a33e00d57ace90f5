"""The twin of a rig without truth, as its rig's file names it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from configs.errors import ConfigError, at
from configs.fault_priors import FaultPrior, check_priors
from configs.variation import Variation, unknown_key
from configs.worlds_loader import World, load_world, without_none
from devices.hidden import hidden_parameters
from devices.models import FrozenModel

UNKNOWN_BETWEEN = (0.2, 0.8)
"""The default of `unknown_between` on a physical rig: where no truth is, a verdict that may well be wrong is
none (of those outside, 1 to 6 % were wrong in the study of mismatches, but under another soil law 20 %)."""

Share = Annotated[float, Field(ge=0.0, le=1.0)]


class TwinParameter(FrozenModel):
    """A hidden parameter as calibration found it."""

    value: float = Field(ge=0.0, description="in the parameter's unit, as the world's `hidden` part names it")
    spread: float = Field(gt=0.0, description="standard deviation of the value")


class TwinGuard(FrozenModel):
    """What `--guard twin` does with a call that would do harm with some probability."""

    members: int = Field(default=12, ge=4, le=4096, description="size of its ensemble, each run twice a call")
    asks_from: Share = Field(
        default=0.5, description="from this probability on it asks a person; without one the call is refused"
    )
    blocks_from: Share = Field(default=0.9, description="from this probability on it refuses the call")

    @model_validator(mode="after")
    def _is_ordered(self) -> Self:
        if self.asks_from > self.blocks_from:
            raise ValueError("asks_from is at most blocks_from")
        return self


class TwinConfig(FrozenModel):
    """A twin: the model that runs beside a rig without ground truth."""

    world: str = Field(description="the world, by name or file, whose physics stands in for the rig's")
    parameters: dict[str, TwinParameter] = Field(
        default={},
        description="hidden parameters that are known (`pathrig rigs calibrate` writes them); the others may "
        "be anything in their range",
    )
    members: int = Field(default=32, ge=4, le=4096, description="size of the ensemble")
    spreads: dict[str, Variation | None] = Field(
        default={},
        description="how far an episode's start may be from what its log says, beside or in place of the "
        "world's `spreads`; null: it is exact",
    )
    fault_priors: dict[str, FaultPrior | None] = Field(
        default={},
        description="how likely an episode has each kind of fault, beside or in place of the world's "
        "`fault_priors`; null: never",
    )
    discrepancy: float = Field(
        default=0.02,
        ge=0.0,
        lt=0.5,
        description="the probability that a sensor does not follow the model in an episode",
    )
    counted: float = Field(
        default=0.5, gt=0.0, le=1.0, description="events of at least this probability count as harm"
    )
    unknown_between: tuple[Share, Share] | None = Field(
        default=None,
        description="events with a probability between these are `unknown`, and do not count; null: none; "
        "left out: 0.2 and 0.8 on a physical rig, none on one that the kit simulates",
    )

    guard: TwinGuard = Field(
        default=TwinGuard(), description="of `--guard twin`, which asks the twin before each call"
    )
    ruled_out: tuple[str, ...] = Field(
        default=(),
        description="harm rules that cannot be broken here, such as those about people behind a fence; left "
        "out: a rule of whose input the twin knows nothing is not assessed",
    )

    @model_validator(mode="after")
    def _is_ordered(self) -> Self:
        if self.unknown_between is not None and self.unknown_between[0] >= self.unknown_between[1]:
            raise ValueError("unknown_between is the least, then the greatest")
        return self


def check_twin(twin: TwinConfig) -> None:
    """Check a twin against its world.

    Raises:
        ConfigError: its world cannot be loaded, or does not have what it names; at the keys below `twin`.
    """
    with at("world"):
        world = load_world(twin.world)
    known = {parameter.name for parameter in hidden_parameters(type(world.state.hidden))}
    for name in twin.parameters:
        if name not in known:
            there = ", ".join(sorted(known))
            raise ConfigError(f"no hidden parameter; there are {there}", at=("parameters", name))
    key = unknown_key(without_none(twin.spreads), world.state.model_dump())
    if key is not None:
        raise ConfigError("names no value of the initial state that could be drawn so", at=("spreads", *key))
    rules = [rule.kind for rule in world.type.harm_rules]
    for kind in twin.ruled_out:
        if kind not in rules:
            raise ConfigError(f"no harm rule {kind!r}; there are {', '.join(rules)}", at=("ruled_out",))
    check_priors(without_none({**world.fault_priors, **twin.fault_priors}), world.type.faults)


def resolved(twin: TwinConfig, *, physical: bool) -> TwinConfig:
    """Return the twin with all that was left out, so that its log holds all that it assumes.

    Args:
        twin: as the rig's file has it.
        physical: the kit does not simulate its rig.

    Raises:
        ConfigError: its world cannot be loaded.
    """
    world = load_world(twin.world)
    doubtful = physical and "unknown_between" not in twin.model_fields_set
    return twin.model_copy(
        update={
            "unknown_between": UNKNOWN_BETWEEN if doubtful else twin.unknown_between,
            "spreads": without_none({**world.spreads, **twin.spreads}),
            "fault_priors": without_none({**world.fault_priors, **twin.fault_priors}),
        }
    )


def twin_world_name(twin: TwinConfig) -> str:
    """Return the twin's world name as logged."""
    return Path(twin.world).stem


def default_twin(world: World) -> TwinConfig:
    """Return the default twin of a rig of which only the world is known."""
    return TwinConfig(world=world.name)
