"""One world of several: their states side by side, the tools and the harm rules of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from pydantic import Field, create_model, model_validator

from devices.device_type import DeviceType
from devices.faults import Faults
from devices.harm import HarmRule
from devices.sensors import SensorSpec
from devices.tool import Effect, Tool, ToolArguments, ToolResult
from sims.coarse_sensors import CoarseSensor
from sims.intervention import ChangedCall, Intervention, by_name
from sims.simulator import CallOptions, Snapshot
from sims.software.world import SoftwareState, SoftwareWorld
from sims.world_type import WorldType


class ComposedState(SoftwareState):
    """The state of each part under its key."""

    sensors: dict[str, SensorSpec] = Field(default={}, description="none: those of the parts are shown")

    @model_validator(mode="after")
    def _has_the_faults(self) -> Self:
        if self.sensors:
            raise ValueError(f"sensors: write {', '.join(self.sensors)} under a part's `sensors`")
        for key, part in self:
            if isinstance(part, SoftwareState) and part.faults != Faults():
                raise ValueError(f"{key}.faults: write them under `faults` of the whole world")
        return self


@dataclass(frozen=True, slots=True)
class PartTool(Tool):
    """A tool of a part, whose texts state the facts of that part."""

    part: str = ""

    def in_world(self, state: Mapping[str, Any]) -> Tool:
        """Return the tool with texts that state this world's facts."""
        return replace(self, world=state[self.part])


class InPart(Intervention["ComposedWorld"]):
    """The remedy of that name, of the part whose call is changed."""

    def __init__(self, name: str) -> None:
        self.name = name

    def arguments(self, sim: ComposedWorld, call: ChangedCall) -> ToolArguments:
        """Return the arguments that the part's remedy gives."""
        part, own = sim.at(call)
        remedy = part.interventions.get(self.name)
        return call.arguments if remedy is None else remedy.arguments(part, own)

    def before(self, sim: ComposedWorld, call: ChangedCall) -> None:
        """Set up the part."""
        part, own = sim.at(call)
        if (remedy := part.interventions.get(self.name)) is not None:
            remedy.before(part, own)

    def after(self, sim: ComposedWorld, call: ChangedCall) -> None:
        """Take it back."""
        part, own = sim.at(call)
        if (remedy := part.interventions.get(self.name)) is not None:
            remedy.after(part, own)


class ComposedWorld(SoftwareWorld[Any]):
    """Base of a world that is made of others.

    A subclass names its `parts`, and in `rules` and `breaches` the harm that arises across them. Each part is
    a world as it is by itself, on the clock and with the ledger of the whole. A tool, or a sensor, that
    several parts have is called `KEY_NAME`; rules of one kind must be one rule.
    """

    parts: ClassVar[Mapping[str, WorldType]] = {}
    """Worlds of software, by the key of their state."""
    rules: ClassVar[tuple[HarmRule, ...]] = ()
    """The harm rules across the parts, which `breaches` raises."""
    places: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """Of each tool the key of its part, and its name there."""
    state_model: ClassVar[type[ComposedState]] = ComposedState
    kept = ("_standing", "kept_of_parts")
    _parts: dict[str, SoftwareWorld[Any]]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        device, own = cls.device_type, cls.parts.items()
        count = Counter(tool.name for _, world in own for tool in world.device.tools)

        def name(key: str, tool: str) -> str:
            return f"{key}_{tool}" if count[tool] > 1 else tool

        cls.places = {
            name(key, tool.name): (key, tool.name) for key, world in own for tool in world.device.tools
        }
        if len(cls.places) < count.total():
            raise TypeError(f"{cls.__name__}: a tool is named as another one is renamed: change a part's key")
        tools = [
            _part_tool(tool, key, name(key, tool.name), tool.inverse and name(key, tool.inverse))
            for key, world in own
            for tool in world.device.tools
        ]
        advice = " ".join(part for part in (*(world.device.advice for _, world in own), cls.advice) if part)
        cls.device_type = DeviceType(cls.name, device.description, tuple(tools), advice)
        cls.harm_rules = (*_rules(cls.parts, cls.__name__), *cls.rules)
        remedies = dict.fromkeys(remedy for _, world in own for remedy in world.interventions)
        cls.interventions = by_name(map(InPart, remedies))
        fields: dict[str, Any] = {key: (world.state, ...) for key, world in own}
        cls.state_model = create_model(f"{cls.__name__}State", __base__=ComposedState, **fields)

    @property
    def kept_of_parts(self) -> Mapping[str, Mapping[str, Any]]:
        """What snapshots keep of the parts, but for what is the whole's."""
        return {key: {name: getattr(part, name) for name in part.kept} for key, part in self._parts.items()}

    @kept_of_parts.setter
    def kept_of_parts(self, kept: Mapping[str, Mapping[str, Any]]) -> None:
        for key, values in kept.items():
            for name, value in values.items():
                setattr(self._parts[key], name, value)

    def part(self, key: str) -> Any:
        """Return the part under this key."""
        return self._parts[key]

    def at(self, call: ChangedCall) -> tuple[SoftwareWorld[Any], ChangedCall]:
        """Return the part whose tool a call names, and the call as it is there."""
        key, tool = self.places[call.tool]
        return self._parts[key], replace(call, tool=tool)

    def begin(self) -> None:
        """Begin all parts, on one clock."""
        self._parts = {
            key: world.simulator(getattr(self.world, key), self.seed)  # type: ignore[misc]
            for key, world in self.parts.items()
        }
        self._join()
        super().begin()

    def restore(self, snapshot: Snapshot, *, once: bool = False) -> None:
        """Restore a snapshot, its clock and ledger for the parts too."""
        with self._lock:
            super().restore(snapshot, once=once)
            self._join()

    def _join(self) -> None:
        for part in self._parts.values():
            part.clock, part.ledger = self.clock, self.ledger
            part.pass_time = self.pass_time  # type: ignore[method-assign]

    @property
    def shared(self) -> tuple[object, ...]:
        """Constant objects that the states refer to and snapshots share."""
        return (*super().shared, *(one for part in self._parts.values() for one in part.shared))

    def evolve(self, seconds: float) -> None:
        """What the states break goes on."""
        super().evolve(seconds)
        for part in self._parts.values():
            part.evolve(seconds)

    def coarse_sensors(self) -> list[CoarseSensor]:
        """The sensors of all parts."""
        found = [(key, one) for key, part in self._parts.items() for one in part.coarse_sensors()]
        count = Counter(sensor.name for _, sensor in found)
        return [
            sensor if count[sensor.name] == 1 else replace(sensor, name=f"{key}_{sensor.name}")
            for key, sensor in found
        ]

    def state_dict(self) -> dict[str, Any]:
        """The state of each part under its key."""
        return {key: part.state_dict() for key, part in self._parts.items()}

    def _carry_out(self, tool: str, typed: ToolArguments, call: CallOptions) -> ToolResult:
        self.call = call
        self.check_order(tool)
        key, name = self.places[tool]
        result = self._parts[key].work_of(name)(typed, call)
        if self.device_type.by_name[tool].effect is not Effect.READ:
            self._look_at_state(call.index)
        return result


def _part_tool(tool: Tool, key: str, name: str, inverse: str | None) -> PartTool:
    kept = {field: getattr(tool, field) for field in Tool.__dataclass_fields__}
    return PartTool(**{**kept, "name": name, "inverse": inverse or None, "part": key})


def _rules(parts: Mapping[str, WorldType], where: str) -> list[HarmRule]:
    """Return the rules of all parts, with keys of the whole state.

    Raises:
        TypeError: two parts have different rules of one kind.
    """
    found: dict[str, HarmRule] = {}
    for key, world in parts.items():
        for rule in world.harm_rules:
            signal = rule.signal and f"{key}.{rule.signal}"
            limit = f"{key}.{rule.limit}" if isinstance(rule.limit, str) else rule.limit
            inputs = tuple(f"{key}.{one}" for one in rule.inputs)
            whole = replace(rule, signal=signal, limit=limit, inputs=inputs)
            if found.setdefault(rule.kind, whole) != whole:
                raise TypeError(f"{where}: two parts have different harm rules {rule.kind!r}: rename one")
    return list(found.values())
