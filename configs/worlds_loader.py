"""Worlds: the initial state of a rig and its surroundings, by name or from a file, and their simulators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from configs.errors import ConfigError
from configs.yaml_file import load_yaml, nearest
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
    """A world: its name, the device that acts in it, and its initial state."""

    name: str
    device: DeviceType
    state: FarmWorld | BenchWorld


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
    overrides = {key: value for key, value in own.data.items() if key != "base"}
    shipped = _shipped(base)
    try:
        state = type(shipped.state).model_validate(deep_merge(shipped.state.model_dump(), overrides))
    except ValidationError as error:
        raise own.from_validation(error, type(shipped.state)) from None
    world = World(path.stem, shipped.device, state)
    try:
        _check_stuck_sensors(world)
    except ConfigError as error:
        raise own.error(str(error).removeprefix("faults: "), "faults") from None
    return world


def _shipped(name: str) -> World:
    path = WORLDS_FOLDER / f"{name}.yaml"
    return _loaded(name, path, path.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _loaded(name: str, path: Path, changed: int) -> World:
    """The world as its file is since it was `changed`; a file of tasks asks for it once a task."""
    return World(name, device_type(name), load_yaml(path).validate(STATE_MODELS[name]))


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
