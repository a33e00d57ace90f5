"""The keys of a device file: the tools of a device type that needs no code."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from devices.models import StrictModel
from devices.tool import Effect

Scalar = bool | int | float | str
Kind = Literal["number", "integer", "text", "boolean", "list", "object", "json"]


class Quantity(StrictModel):
    """A typed value with its unit and bounds."""

    description: str = Field(default="", description="what it is, for a model")
    type: Kind | None = Field(
        default=None,
        description="number, integer, text or boolean; list, object or json (any value) have parts of their "
        "own; left out: text where `choices` are given, else number",
    )
    unit: str = Field(default="", description="the unit; it is added to the description")
    min: float | None = Field(default=None, description="the least value")
    max: float | None = Field(default=None, description="the greatest value")
    choices: list[Scalar] | None = Field(default=None, min_length=1, description="the only values")

    @property
    def kind(self) -> Kind:
        """Its type, given or implied."""
        return self.type or ("number" if self.choices is None else "text")


class Argument(Quantity):
    """An argument of a tool."""

    default: Scalar | None = Field(default=None, description="for a call that leaves it out")
    optional: bool = Field(default=False, description="a call may leave it out, and it has no default")
    json_schema: dict[str, Any] | None = Field(
        default=None,
        alias="schema",
        description="of a list, an object or json: the JSON schema that a model reads; the rig checks it",
    )


class ResultPart(Quantity):
    """A key of a tool's result."""

    register_name: str | None = Field(
        default=None, alias="register", description="the register whose value it is"
    )
    resolution: float = Field(default=0.0, ge=0.0, description="how finely a number is read")
    echo: bool = Field(default=False, description="it repeats an argument, and so is no reading")
    optional: bool = Field(default=False, description="the hardware may leave it out")


class Register(Quantity):
    """A state of the rig, such as a relay's; unknown until a call or a sensor reports it."""

    after_stop: Scalar | None = Field(
        default=None, description="what it is once the rig is stopped; left out: not known then"
    )


class Sensor(StrictModel):
    """A sensor of the rig by its name in samples; a dot there separates sensor and entity."""

    description: str = Field(default="", description="what it senses")
    unit: str = Field(default="", description="the unit of its samples")
    register_name: str | None = Field(
        default=None, alias="register", description="the register whose value it is"
    )


class ArgumentRef(StrictModel):
    """The value of a call's argument."""

    argument: str = Field(description="the argument's name")


class Requirement(StrictModel):
    """A condition for a tool to run. An unknown register never refuses."""

    registers: dict[str, Any] = Field(
        min_length=1, description="register to pattern, as in a plan: a value, {min: 0}, {in: [..]}"
    )
    when: dict[str, Any] = Field(
        default={}, description="only for calls whose arguments fit: argument to pattern; left out: for all"
    )
    code: str = Field(default="not_ready", description="the code of the refusal")
    message: str = Field(
        default="", description="a sentence that says what to do first; left out: which register, and why"
    )


class ToolEntry(StrictModel):
    """A tool."""

    description: str = Field(min_length=1, description="what it does, for a model: one or two sentences")
    effect: Effect = Field(
        strict=False,
        description="read: nothing changes; write: something does; motion: the machine moves; safe: it only "
        "goes towards rest (lock, off); the guard believes that where the command line names the tool",
    )
    arguments: dict[str, Argument] = Field(default={}, description="its arguments by name")
    result: dict[str, ResultPart] | Literal["any"] = Field(
        default={}, description="its result's keys; any: they are not known"
    )
    inverse: str | None = Field(default=None, description="the tool that undoes it")
    destructive: bool | None = Field(
        default=None,
        description="whether nothing undoes it; left out: derived from `inverse` and `effect`",
    )
    idempotent: bool | None = Field(
        default=None,
        description="whether a repetition changes nothing; left out: derived from `effect` and `sets`",
    )

    @property
    def result_parts(self) -> dict[str, ResultPart]:
        """The keys of its result that are known."""
        return {} if self.result == "any" else self.result

    sets: dict[str, Scalar | ArgumentRef] = Field(
        default={}, description="registers that it sets when it succeeds: a value, or {argument: NAME}"
    )
    requires: list[Requirement] = Field(
        default=[],
        description="what must hold first, in the order of the checks; "
        "{REGISTER: PATTERN, ..} alone means one requirement of these registers",
    )
    limits: dict[str, Any] = Field(
        default={},
        description="argument to pattern: the guard refuses calls that leave it, in all modes but observe",
    )

    @model_validator(mode="before")
    @classmethod
    def _short_requirement(cls, written: Any) -> Any:
        if isinstance(written, dict) and isinstance(written.get("requires"), dict):
            return {**written, "requires": [{"registers": written["requires"]}]}
        return written


class DeviceFile(StrictModel):
    """A device type: the tools that all rigs of one kind share."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9_-]+$",
        description="the device type's name, as rigs and the log state it",
    )
    description: str = Field(min_length=1, description="what it is")
    advice: str = Field(default="", description="one sentence, part of every model's prompt")
    registers: dict[str, Register] = Field(default={}, description="what the rig keeps, by name")
    sensors: dict[str, Sensor] = Field(default={}, description="what it samples unasked, by name")
    places: dict[str, dict[Literal["x", "y", "z"], float]] = Field(
        default={}, description="named places for `at: NAME` in a plan: x, y and z in m"
    )
    reach: float = Field(default=0.0, ge=0.0, description="how far from a place a call may still aim, m")
    tools: dict[str, ToolEntry] = Field(
        min_length=1, description="the tools, in the order in which a model reads them"
    )
