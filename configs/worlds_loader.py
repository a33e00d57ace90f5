"""Worlds: the initial state of a rig and its surroundings, by name or from a file, and their simulators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from configs.errors import ConfigError
from configs.variation import Variation, unknown_key
from configs.yaml_file import YamlFile, load_yaml, nearest
from devices.catalog import device_type
from devices.farm_rover.world import FarmWorld
from devices.robotic_arm.world import BenchWorld
from devices.surface import DeviceType
from sims.overrides import WorldError, deep_merge, merge_world

if TYPE_CHECKING:
    from sims.simulator import Simulator

WORLDS_FOLDER = Path(__file__).parent / "worlds"
STATE_MODELS: Mapping[str, type[FarmWorld] | type[BenchWorld]] = {
    "farm_rover": FarmWorld,
    "robotic_arm": BenchWorld,
}
ALIASES = {"farm": "farm_rover", "arm": "robotic_arm", "bench": "robotic_arm"}


@dataclass(frozen=True)
class World:
    """A world: its name, the device that acts in it, its initial state, and what of that may vary.

    Attributes:
        vary: the range of each value that `run --vary` draws, by its dotted key; `*` stands for each entry.
    """

    name: str
    device: DeviceType
    state: FarmWorld | BenchWorld
    vary: Mapping[str, Variation] = field(default_factory=dict)


class VaryKey(BaseModel):
    """The key of a world file that is no part of the state."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    vary: dict[str, Variation | None] = {}


def world_names() -> tuple[str, ...]:
    """The worlds that ship with the kit."""
    return tuple(STATE_MODELS)


def known_world(name: str) -> str | None:
    """The shipped world that a name or alias means, or None."""
    name = ALIASES.get(name, name)
    return name if name in STATE_MODELS else None


def load_world(ref: str) -> World:
    """A shipped world by name or alias, or a YAML file that names its `base` and what differs from it.

    Raises:
        ConfigError: no such world or file, or the file does not hold a valid state.
    """
    name = known_world(ref)
    if name is not None:
        return _shipped(name)
    path = Path(ref)
    if not path.is_file():
        raise ConfigError(f"no world or file {ref!r}; the worlds are {nearest(world_names())}")
    own = load_yaml(path)
    base = known_world(str(own.data.get("base")))
    if base is None:
        raise own.error(f"name one of the worlds {nearest(world_names())} to start from", "base")
    overrides = {key: value for key, value in own.data.items() if key not in ("base", "vary")}
    shipped = _shipped(base)
    try:
        state = type(shipped.state).model_validate(deep_merge(shipped.state.model_dump(), overrides))
    except ValidationError as error:
        raise own.from_validation(error) from None
    world = World(path.stem, shipped.device, state, _vary(own, state, shipped.vary))
    try:
        _check_stuck_sensors(world)
    except ConfigError as error:
        raise own.error(str(error).removeprefix("faults: "), "faults") from None
    return world


def _shipped(name: str) -> World:
    file = load_yaml(WORLDS_FOLDER / f"{name}.yaml")
    rest = {key: value for key, value in file.data.items() if key != "vary"}
    state = YamlFile(file.path, rest, file.lines).validate(STATE_MODELS[name])
    return World(name, device_type(name), state, _vary(file, state, {}))


def _vary(
    file: YamlFile, state: FarmWorld | BenchWorld, base: Mapping[str, Variation]
) -> dict[str, Variation]:
    """The ranges of a world file laid over those of its base; null takes one away."""
    part = YamlFile(file.path, {key: file.data[key] for key in ("vary",) if key in file.data}, file.lines)
    own = part.validate(VaryKey).vary
    merged = {**base, **own}
    ranges = {key: variation for key, variation in merged.items() if variation is not None}
    wrong = unknown_key(ranges, state.model_dump())
    if wrong is not None:
        raise file.error("names no value of the initial state that could be drawn so", "vary", wrong)
    return ranges


def merged_state(world: World, overrides: Mapping[str, Any]) -> FarmWorld | BenchWorld:
    """The world's initial state with these overrides; a null takes a plant, an object or the like away.

    Raises:
        ConfigError: a key is unknown or a value does not fit.
    """
    try:
        state = merge_world(world.state, overrides)
    except WorldError as error:
        raise ConfigError(str(error)) from None
    _check_stuck_sensors(replace(world, state=state))
    return state


def _check_stuck_sensors(world: World) -> None:
    # Which sensors there are shows when they are made.
    if world.state.faults.stuck_sensors:
        make_simulator(world)


def make_simulator(world: World, seed: int = 0) -> Simulator[Any]:
    """The simulator that matches a world; MuJoCo is loaded only for the arm.

    Raises:
        ConfigError: a fault sticks a sensor that the world does not have.
    """
    try:
        if isinstance(world.state, FarmWorld):
            from sims.farm.simulator import FarmSimulator

            return FarmSimulator(world.state, seed)
        from sims.arm.simulator import ArmSimulator

        return ArmSimulator(world.state, seed)
    except WorldError as error:
        raise ConfigError(str(error)) from None
