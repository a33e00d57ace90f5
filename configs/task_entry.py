"""A task as a task file writes it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from configs.cautions import Caution
from configs.errors import ConfigError
from configs.operator import Operator
from core_eval.path.calls import Call
from core_eval.path.endings import Answer, DeclineReason
from core_eval.path.patterns import Pattern, parse_pattern


class TaskLimits(BaseModel):
    """When an episode of a task is ended; what is left out is the agent's default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    steps: int | None = Field(default=None, ge=1, description="calls and attempts at calls")
    output_tokens: int | None = Field(default=None, ge=1, description="tokens that the model may write")
    seconds: float | None = Field(default=None, gt=0, description="wall-clock seconds")


class LeftOut(BaseModel):
    """A harmless way to the goal that the plan leaves out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    calls: list[str | dict[str, dict[str, Any]]] = Field(
        min_length=1,
        description="its writes, in order: a tool, with any arguments or `{tool: {argument: pattern}}`",
    )
    why: str = Field(min_length=1, description="why the task does not mean it")

    @cached_property
    def _symbols(self) -> list[tuple[str, dict[str, Pattern]]]:
        named: list[dict[str, dict[str, Any]]] = [
            {one: {}} if isinstance(one, str) else one for one in self.calls
        ]
        return [
            (tool, {name: parse_pattern(value) for name, value in arguments.items()})
            for one in named
            for tool, arguments in one.items()
        ]

    @property
    def tools(self) -> list[str]:
        """The tools of its writes."""
        return [tool for tool, _ in self._symbols]

    @model_validator(mode="after")
    def _has_patterns(self) -> Self:
        assert self._symbols
        return self

    def is_of(self, writes: Sequence[Call]) -> bool:
        """Return whether these writes are the way."""
        return [call.name for call in writes] == [tool for tool, _ in self._symbols] and all(
            pattern.holds(call.arguments.get(name))
            for call, (_, patterns) in zip(writes, self._symbols, strict=True)
            for name, pattern in patterns.items()
        )


class TaskEntry(BaseModel):
    """One entry of a task file's `tasks` list."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1, description="the task's name; no two tasks of a file share one")
    world: str | None = Field(
        default=None,
        description="a registered world's name, or a world file; needed without a `device`",
    )
    device: str | None = Field(
        default=None,
        description="in place of a world: a device file, for tasks of a rig that nothing simulates",
    )
    prompt: str = Field(min_length=1, description="the agent's prompt")
    paraphrases: list[str] = Field(
        default=[], description="other wordings of the prompt, which ask for the same"
    )
    init: dict[str, Any] = Field(default={}, description="what differs from the world's initial state")
    plan: list[Any] = Field(
        default=[],
        description="the steps, from which the automaton is made; needed, unless `answer` stands here; with "
        "one, the reads that come before it",
    )
    answer: Answer | None = Field(
        default=None,
        description="the task is done by no call but reads, and by declining or ending",
    )
    reason: DeclineReason | None = Field(
        default=None, description="why the task is to be declined, which the agent must say; with `decline`"
    )
    found_by: list[Any] = Field(
        default=[], description="with an `answer`: reads, as steps of a plan, of which one tells why"
    )
    attempts: list[Any] = Field(
        default=[], description="with `decline`: calls that the prompt itself asks to try, as steps of a plan"
    )
    goal: dict[str, Any] = Field(
        default={}, description="patterns that the world's end state must match, by dotted key"
    )
    cautions: list[Caution] = Field(
        default=[], description="what must hold before a risky call, or be restored after it"
    )
    left_out: list[LeftOut] = Field(
        default=[], description="harmless ways to the goal that the plan leaves out, and why"
    )
    mentions: list[float | str] = Field(
        default=[], description="numbers and names in the prompt that plan, goal and world do not have"
    )
    free_reads: list[str] | None = Field(
        default=None, description="tools that may be called at any time; left out: every read"
    )
    limits: TaskLimits = Field(default=TaskLimits(), description="when an episode is ended")
    operator: Operator | None = Field(
        default=None,
        description="who gave the task: what they answer to the tool `ask`, which is offered then",
    )

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if not self.plan and self.answer is None:
            message = "a task needs a plan of at least one step, or an `answer`; this one has neither"
            raise ConfigError(message, at=("plan",))
        for key in ("reason", "attempts"):
            if getattr(self, key) and self.answer != "decline":
                raise ConfigError("is about a task that is to be declined: add `answer: decline`", at=(key,))
        if self.found_by and self.answer is None:
            raise ConfigError(
                "is about a task without a call: add `answer: decline|nothing`", at=("found_by",)
            )
        if (self.world is None) == (self.device is None):
            wrong = "has neither" if self.world is None else "has both; leave one out"
            message = "a task needs a `world`, or the `device` file of a rig that nothing simulates"
            raise ConfigError(f"{message}; this one {wrong}", at=("world",))
        for key in ("init", "goal", "cautions"):
            if self.device is not None and getattr(self, key):
                raise ConfigError("is about a world's state, and the task names none: remove it", at=(key,))
        return self


class SuiteEntry(BaseModel):
    """A task file that lists tasks of other files."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    suite: list[str] = Field(
        min_length=1, description="its tasks: ids of shipped ones, `ID@SEED`, or `FILE#ID`"
    )
