"""What an agent is: given a prompt and tools, it acts, one call at a time, on what it observes."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from agents.deadline import Cancellation
from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call
from core_eval.path.endings import Answer, DeclineReason
from devices.outcome import Outcome
from devices.sensors import Sample
from devices.tool import Tool


class AgentSpecError(ValueError):
    """An agent's specification names nothing that can act: a bad form, or a file that is not right."""


class BackendError(RuntimeError):
    """A model cannot be loaded, reached or run."""


StopReason = Literal["done", "decline", "max_steps", "max_tokens", "max_time", "context", "idle"]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one answer of a model cost; all zero for an agent that is no model, and for the second and later
    calls of one answer.

    Attributes:
        text: the model's own words, marks and all.
        input_tokens: prompt tokens that were evaluated for this answer.
        cached_tokens: prompt tokens that were there already.
        output_tokens: tokens that the model wrote.
        seconds: wall clock, s.
        reasoning: the thoughts among the words, or those that a server sends apart from them.
        prompt_seconds: of them, evaluating the prompt; None where it is not known.
        writing_seconds: of them, writing the answer; None where it is not known.
        first_token_seconds: until the first token of the answer; None where it is not known.
    """

    text: str = ""
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    reasoning: str = ""
    prompt_seconds: float | None = None
    writing_seconds: float | None = None
    first_token_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Usage(Cost):
    """What one answer cost, and what else the log should say of it, a line each."""

    remarks: tuple[str, ...] = ()


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of an episode: actions, tokens that the model writes, and seconds of wall clock."""

    steps: int = 40
    output_tokens: int = 4096
    seconds: float = 120.0


RUNAWAY = Limits(10_000, seconds=math.inf)
"""The limits of an agent that ends by itself."""


@dataclass(frozen=True, slots=True)
class EpisodeContext:
    """An agent's input at the start of an episode.

    For `oracle` alone are automaton, answer, `decline` and `harmless`: the calls that avoid its hazards.

    `seed` is that of the agent's own random numbers in this episode; another task, try or agent has another.
    `run_seed` is the run's with the number of the try added, by which `oracle` takes another path in each.

    An agent that waits or computes for long looks at `cancellation` meanwhile: once the episode is cancelled
    its action is no longer used. `samples` returns the latest readings of the rig's sensors by their names.
    """

    prompt: str
    tools: Sequence[Tool]
    seed: int = 0
    automaton: TaskAutomaton | None = None
    limits: Limits = Limits()
    answer: Answer | None = None
    decline: DeclineReason | None = None
    advice: str = ""
    cancellation: Cancellation = field(default_factory=Cancellation)
    samples: Callable[[], Mapping[str, Sample]] = dict
    run_seed: int = 0
    harmless: Sequence[Call] | None = None


@dataclass(frozen=True, slots=True)
class ToolCallAction:
    """A call to make. The device checks whether the tool exists and the arguments fit."""

    name: str
    arguments: Mapping[str, Any]
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True)
class InvalidAction:
    """Text without a readable call where one was intended: a step with status `invalid`.

    Attributes:
        text: the words.
        reason: a sentence that says what is wrong with them; a model gets it as the tool's answer.
        code: what is wrong, in one stable word.
        usage: what they cost.
    """

    text: str
    reason: str
    code: str
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True)
class StopAction:
    """The agent ends the episode: it is `done`, it declines the task, or a limit was reached.

    Attributes:
        reason: which of them.
        usage: what its words cost.
        said: the answer with which it is done, or why it declines; empty where it does not say.
    """

    reason: StopReason
    usage: Usage = NO_USAGE
    said: str = ""


Action = ToolCallAction | InvalidAction | StopAction


@dataclass(frozen=True, slots=True)
class Observation:
    """The result of the last call."""

    call: ToolCallAction
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class FirstPrompt:
    """What a model is given before its first answer.

    Attributes:
        messages: system prompt, examples, and the task.
        tools: the function schemas.
        rendered: the text that its chat template makes of both; None where a server renders it.
    """

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    rendered: str | None = None


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Facts about a model agent's model, beside its options.

    Attributes:
        process: the id of the process that computes the model; None where it is on another machine.
        load_seconds: how long it took to load the model, s; None where nothing was loaded.
        first_prompt: what the model was given at the start of the episode.
        facts: the metadata of its file, and the memory that it takes, for `pathrig models check`.
    """

    process: int | None
    load_seconds: float | None = None
    first_prompt: FirstPrompt | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


class Agent(ABC):
    """An agent. `start` begins an episode; `act` is then called until it returns a `StopAction`.

    Attributes:
        name: what the log calls it: the kind of agent and its model or file.
        scaffold: the scaffold that a model runs in; `none` for agents that are no models, to which a task's
            limits of steps and time do not apply.
    """

    name: str = ""
    scaffold: str = "none"

    @cached_property
    def options(self) -> Mapping[str, Any]:
        """Return what was chosen for it, such as a grammar or the sampling; JSON values, for the log."""
        return {}

    @cached_property
    def model_info(self) -> ModelInfo:
        """Return the facts about its model; this process alone for an agent without one."""
        return ModelInfo(os.getpid())

    def check(self, context: EpisodeContext) -> Any:
        """Check that a first answer is possible, before anything moves; return what that takes.

        Raises:
            agents.agent.AgentSpecError: it is not possible; one line with the figures.
            agents.agent.BackendError: the model cannot be reached or run.
        """
        return None

    @abstractmethod
    def start(self, context: EpisodeContext) -> None:
        """Begin an episode; whatever is left of the last one is dropped."""

    @abstractmethod
    def act(self, observation: Observation | None) -> Action:
        """Return the next action. The observation is None at the first one and after an `InvalidAction`.

        Raises:
            agents.agent.BackendError: the model cannot be reached or run; one clear line.
            agents.deadline.CancelledError: the episode was cancelled meanwhile.
        """

    def close(self) -> None:  # noqa: B027  optional
        """Release models, files and connections."""
