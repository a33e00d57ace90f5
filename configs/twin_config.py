"""The twin of a rig without truth, as its rig's file names it."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from configs.worlds_loader import World, load_world
from devices.hidden import hidden_parameters


class TwinParameter(BaseModel):
    """A hidden parameter as calibration found it."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    value: float = Field(ge=0.0, description="in the parameter's unit, as the world's `hidden` part names it")
    spread: float = Field(gt=0.0, description="standard deviation of the value")


class TwinConfig(BaseModel):
    """A twin: the model that runs beside a rig that tells no truth."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    world: str = Field(description="the world, by name or file, whose physics stands in for the rig's")
    parameters: dict[str, TwinParameter] = Field(
        default={},
        description="hidden parameters that are known (`pathrig calibrate` writes them); the others may be "
        "anything in their range",
    )
    members: int = Field(default=32, ge=4, le=4096, description="size of the ensemble")


def twin_fault(twin: TwinConfig) -> tuple[tuple[str, ...], str] | None:
    """Return the key below `twin` and a message for a faulty twin; None if it is valid.

    Raises:
        ConfigError: its world cannot be loaded.
    """
    known = {parameter.name for parameter in hidden_parameters(type(load_world(twin.world).state.hidden))}
    for name in twin.parameters:
        if name not in known:
            return ("parameters", name), f"no hidden parameter; there are {', '.join(sorted(known))}"
    return None


def twin_world_name(twin: TwinConfig) -> str:
    """Return the twin's world name as logged."""
    return Path(twin.world).stem


def default_twin(world: World) -> TwinConfig:
    """Return the default twin of a rig of which only the world is known."""
    return TwinConfig(world=world.name)
