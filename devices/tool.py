"""One tool of a rig: typed arguments, effect, inverse, and the schema that a model reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from string import Formatter
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from devices.models import StrictModel


class Effect(StrEnum):
    """What a call may change."""

    READ = "read"
    """Nothing: allowed from anywhere and at any time."""
    WRITE = "write"
    """The state of the rig or of the world, without motion of the machine."""
    MOTION = "motion"
    """The position of the machine."""
    SAFE = "safe"
    """Only towards rest (lock, valve or pump off), and nothing else moves."""


class ToolArguments(StrictModel):
    """Base of every tool's arguments: strict types, finite numbers, no unknown names."""


class NoArguments(ToolArguments):
    """For tools that take none."""


class ToolResult(BaseModel):
    """Base of every tool's result value, as it goes over the wire and to the model."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Reads:
    """The resolution of a number of a result, in an annotation: `Annotated[float, Reads(0.001)]`."""

    resolution: float


@dataclass(frozen=True, slots=True)
class Echoes:
    """Marks a part of a result that repeats an argument, and so is no reading, in an annotation."""


class ArgumentsError(ValueError):
    """Arguments that do not fit a tool's schema; the text is one line that helps a model."""

    code = "bad_arguments"


class UnknownTool(ArgumentsError):
    """There is no such tool."""

    code = "unknown_tool"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of a rig.

    Attributes:
        name: as a model calls it.
        description: its effect, for a model: one or two sentences with units. Facts of the world are fields
            in braces, such as `{rover[reach]:g}`, here and in the arguments' descriptions.
        arguments: the pydantic model of its arguments.
        result: the pydantic model of its value when it succeeds.
        effect: read, write, motion or safe. A safe call off the path is harmful as any other, but no
            deviation.
        inverse: the tool that undoes it, if any.
        sets: what it sets of a simulator's true state, and its inverse sets back: dotted keys of
            `state_dict()`, leaves or branches, in which `{argument}` stands for the call's.
        world: the state of the world of the texts; None until `in_world`. Not part of equality.
        retreat: it moves the machine to its rest: the guard's mode `block` lets it through off the path.
        timed: a sensor of the rig ends it, so its duration is a reading.
        destructive: whether nothing undoes it; None: derived from `inverse` and `effect`.
        idempotent: whether a second identical call changes nothing; None: derived from `effect` and `sets`.
    """

    name: str
    description: str
    arguments: type[ToolArguments]
    result: type[ToolResult]
    effect: Effect
    inverse: str | None = None
    sets: tuple[str, ...] = ()
    world: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    def in_world(self, state: Mapping[str, Any]) -> Tool:
        """Return the tool with texts that state this world's facts."""
        return replace(self, world=state)

    retreat: bool = False
    timed: bool = False
    destructive: bool | None = None
    idempotent: bool | None = None

    def misfits(self, value: Mapping[str, Any], *, lacking: bool = True) -> list[str]:
        """Return what does not fit in a result, a line each; keys that lack only if `lacking`."""
        try:
            self.result.model_validate(dict(value))
        except ValidationError as error:
            return [
                f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
                for fault in error.errors(include_url=False)
                if lacking or fault["type"] != "missing"
            ]
        return []

    def readings(self, value: Mapping[str, Any]) -> dict[str, tuple[Any, float]]:
        """Return the readings in a result: each part's value and resolution (0 for words and counts)."""
        readings = {}
        for name, given in value.items():
            field = self.result.model_fields.get(name)
            marks = () if field is None else field.metadata
            if not any(isinstance(mark, Echoes) for mark in marks):
                finest = next((mark.resolution for mark in marks if isinstance(mark, Reads)), 0.0)
                readings[name] = given, finest
        return readings

    @property
    def towards_safe(self) -> bool:
        """Whether it only takes the rig towards its safe state."""
        return self.effect is Effect.SAFE

    @property
    def bare(self) -> bool:
        """Whether it takes no arguments."""
        return not self.arguments.model_fields

    def schema(self) -> dict[str, Any]:
        """Return the tool as an OpenAI-style function schema, as chat templates expect it.

        Raises:
            ValueError: its texts state facts of a world, and it is in none.
        """
        parameters = self.parameters()
        for argument in parameters["properties"].values():
            if "description" in argument:
                argument["description"] = self._text(argument["description"])
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self._text(self.description),
                "parameters": parameters,
            },
        }

    def parameters(self) -> dict[str, Any]:
        """Return the JSON schema of its arguments, with the descriptions as written."""
        properties: dict[str, Any] = {}
        for name, field_ in _schema(self.arguments).get("properties", {}).items():
            properties[name] = {key: value for key, value in field_.items() if key != "title"}
        required = [name for name, one in self.arguments.model_fields.items() if one.is_required()]
        return {"type": "object", "properties": properties, "required": required}

    def _text(self, written: str) -> str:
        if self.world is None and any(name is not None for _, name, _, _ in _FACTS.parse(written)):
            raise ValueError(f"the text of {self.name} states facts of a world: use in_world first")
        return with_facts(written, self.world or {})


@cache
def _schema(arguments: type[ToolArguments]) -> dict[str, Any]:
    return arguments.model_json_schema()


class _Facts(Formatter):
    """Fills in facts of a world; a mapping (stations, bins) gives all its names."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Mapping):
            *first, last = value
            return f"{', '.join(first)} or {last}" if first else last
        return str(super().format_field(value, format_spec))


_FACTS = _Facts()


def with_facts(text: str, world: Mapping[str, Any]) -> str:
    """Return a text with the facts of a world (`{rover[reach]:g}`) filled in.

    Raises:
        KeyError: the world has no such fact.
    """
    return _FACTS.vformat(text, (), world)


LONGEST_WAIT_S = 600.0


class Wait(ToolArguments):
    """How long to wait."""

    seconds: float = Field(gt=0.0, le=LONGEST_WAIT_S, description="how long, in seconds")


class Waited(ToolResult):
    """How long it was to wait."""

    seconds: Annotated[float, Echoes()]


WAIT = Tool(
    "wait",
    f"Do nothing for some seconds, {LONGEST_WAIT_S:g} at most.",
    Wait,
    Waited,
    Effect.READ,
)
"""It changes nothing of the rig: what goes on by itself goes on."""
