"""Worlds: the initial state of a rig and its surroundings, by name or from a file, and their simulators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict

from configs.errors import ConfigError
from configs.fault_priors import FaultPrior, FaultPriors, check_priors
from configs.hazards import Hazard, Hazards, drawn_start
from configs.variation import EACH, Variation, unknown_key, values_at
from configs.yaml_file import YamlFile, load_yaml, nearest
from devices.device_type import DeviceType
from devices.registry import PluginError
from sims.faults import faults_of
from sims.overrides import WorldError, deep_merge, merge_world
from sims.world_type import WORLD_TYPES, WorldType

if TYPE_CHECKING:
    from sims.simulator import Simulator

Given = TypeVar("Given")


class RangeKeys(BaseModel):
    """The keys of a world file that are no part of the state."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    vary: dict[str, Variation | None] = {}
    spreads: dict[str, Variation | None] = {}
    fault_priors: dict[str, FaultPrior | None] = {}
    hazards: dict[str, Hazard | None] = {}
    notes: list[str] | None = None


Ranges = Mapping[str, Variation]
"""The range of each value, by its dotted key; `*` stands for each entry."""


@dataclass(frozen=True)
class World:
    """A world: its name, its kind, and its initial state."""

    name: str
    type: WorldType
    state: Any
    """Of the model `type.state`."""
    vary: Ranges = field(default_factory=dict)
    """What `run --vary` draws."""
    spreads: Ranges = field(default_factory=dict)
    """How far the start of an episode may be from what the host believes of it."""
    fault_priors: FaultPriors = field(default_factory=dict)
    """How likely the rig has each kind of fault in an episode, for its twin."""
    hazards: Hazards = field(default_factory=dict)
    """What `run --hazards` draws."""
    notes: tuple[str, ...] = ()
    """The values of the initial state, by dotted key, that the site's notes tell then."""

    @cached_property
    def device(self) -> DeviceType:
        """The device that acts in it; the texts of its tools state the facts of this world."""
        return self.type.device.in_world(self.state.model_dump())


def known_world(name: str) -> str | None:
    """Return the registered world that a name or alias means, or None."""
    if name in WORLD_TYPES:
        return name
    return next((world.name for world in WORLD_TYPES.values() if name in world.aliases), None)


def load_world(ref: str) -> World:
    """Return a registered world by name or alias, or a YAML file that names its `base` and what differs from
    it.

    Raises:
        ConfigError: no such world or file, the file does not hold a valid state, or the package that
            registers the world cannot be used.
    """
    try:
        name = known_world(ref)
        if name is not None:
            return _with_defaults(name)
    except PluginError as error:
        raise ConfigError(str(error)) from None
    path = Path(ref)
    if not path.is_file():
        raise ConfigError(f"no world or file {ref!r}; the worlds are {nearest(list(WORLD_TYPES), ref)}")
    own = load_yaml(path)
    base = known_world(str(own.data.get("base")))
    if base is None:
        worlds = nearest(list(WORLD_TYPES), str(own.data.get("base")))
        raise own.error(f"name one of the worlds to start from: {worlds}", "base")
    overrides = {
        key: value for key, value in own.data.items() if key not in ("base", *RangeKeys.model_fields)
    }
    world = _with_defaults(base)
    whole = replace(own, data=deep_merge(world.state.model_dump(), overrides))
    state = whole.validate(world.type.state)
    world = World(path.stem, world.type, state, *_ranges(own, state, world))
    _check_hazards(own, world)
    try:
        _check_faulty_things(world)
    except ConfigError as error:
        raise own.error(str(error).removeprefix("faults: "), "faults") from None
    return world


def _check_hazards(file: YamlFile, world: World) -> None:
    """Check that each start of the file's own hazards fits the world."""
    state = world.state.model_dump()
    for name in file.data.get("hazards", {}).keys() & world.hazards:
        with file.at("hazards", name):
            for number, start in enumerate(world.hazards[name].one_of):
                try:
                    merge_world(world.state, drawn_start(start, state, Random(number)))
                except WorldError as error:
                    raise ConfigError(str(error)) from None


def _with_defaults(name: str) -> World:
    return _loaded(WORLD_TYPES[name], WORLD_TYPES[name].defaults.stat().st_mtime_ns)


@lru_cache(maxsize=32)
def _loaded(kind: WorldType, changed: int) -> World:
    """Load the world file in its version of time `changed`; the result is cached."""
    file = load_yaml(kind.defaults)
    rest = {key: value for key, value in file.data.items() if key not in RangeKeys.model_fields}
    state = replace(file, data=rest).validate(kind.state)
    return World(kind.name, kind, state, *_ranges(file, state, World(kind.name, kind, state)))


def _ranges(
    file: YamlFile, state: BaseModel, base: World
) -> tuple[Ranges, Ranges, FaultPriors, Hazards, tuple[str, ...]]:
    """Merge what a world file says beside the state into its base's; null removes one."""
    given = {key: file.data[key] for key in RangeKeys.model_fields if key in file.data}
    own = replace(file, data=given).validate(RangeKeys)

    def merged(name: str, inherited: Ranges, ranges: Mapping[str, Variation | None]) -> Ranges:
        found = without_none({**inherited, **ranges})
        wrong = unknown_key(found, state.model_dump())
        if wrong is not None:
            raise file.error("names no value of the initial state that could be drawn so", name, *wrong)
        return found

    priors = without_none({**base.fault_priors, **own.fault_priors})
    with file.at():
        check_priors(priors, base.type.faults)
    hazards = without_none({**base.hazards, **own.hazards})
    for key in own.notes or ():
        if EACH not in key and not list(values_at(key, state.model_dump())):
            raise file.error(f"{key} names no value of the initial state", "notes")
    return (
        merged("vary", base.vary, own.vary),
        merged("spreads", base.spreads, own.spreads),
        priors,
        hazards,
        base.notes if own.notes is None else tuple(own.notes),
    )


def without_none(given: Mapping[str, Given | None]) -> dict[str, Given]:
    """Return the entries that null does not remove."""
    return {key: one for key, one in given.items() if one is not None}


def merged_state(world: World, overrides: Mapping[str, Any]) -> BaseModel:
    """Return the world's initial state with these overrides; null removes a plant, an object or the like.

    Raises:
        ConfigError: a key is unknown or a value does not fit.
    """
    try:
        state: BaseModel = merge_world(world.state, overrides)
    except WorldError as error:
        raise ConfigError(str(error)) from None
    _check_faulty_things(replace(world, state=state))
    return state


def _check_faulty_things(world: World) -> None:
    # Which sensors and tools there are shows when it is made.
    if faults_of(world.state).name_things:
        make_simulator(world)


def make_simulator(world: World, seed: int = 0) -> Simulator[Any]:
    """Return the simulator that matches a world.

    Raises:
        ConfigError: a fault names a sensor or a tool that the world does not have.
    """
    try:
        return world.type.simulator(world.state, seed)
    except WorldError as error:
        raise ConfigError(str(error)) from None


def spreads_of(world: World) -> Mapping[str, Variation]:
    """Return the spreads of a logged world's file, or of the shipped world of its kind."""
    if world.spreads:
        return world.spreads
    try:
        return load_world(world.name).spreads
    except ConfigError:
        return load_world(world.type.name).spreads
