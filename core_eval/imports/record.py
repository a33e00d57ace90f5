"""The one form in which imported traces are held, whatever file they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.path.calls import Call

NO_ANSWER = "no answer"
"""Where the status of a call comes from whose file has no answer to it: it is unknown."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the file describes it.

    Attributes:
        schema: the JSON Schema of its arguments; None where the file has none.
        effect: `read`, `write`, `motion` or `safe`; None where the file does not say.
    """

    name: str
    description: str = ""
    schema: Mapping[str, Any] | None = None
    effect: str | None = None

    def function(self) -> dict[str, Any]:
        """Return it as a function of the OpenAI API."""
        given = {"name": self.name, "description": self.description, "parameters": self.schema}
        return {"type": "function", "function": {key: value for key, value in given.items() if value}}


@dataclass(frozen=True, slots=True)
class GoldCall:
    """A call that the file's own answer to the task makes.

    Attributes:
        compared: the arguments that count; None: all.
        requestor: who makes it, `assistant` or `user`.
    """

    name: str
    arguments: Mapping[str, Any]
    compared: tuple[str, ...] | None = None
    requestor: str = "assistant"


@dataclass(frozen=True, slots=True)
class Gold:
    """The file's own answer to a task.

    Attributes:
        calls: in the file's order; empty: the task asks for no call.
        source: the key of the file that holds it.
    """

    calls: tuple[GoldCall, ...]
    source: str


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call that an agent made.

    Attributes:
        status: None where the file has no answer to it.
        status_from: what tells the status: a key of the file, the beginning of the answer's text, an exit
            code, or that there is an answer.
        id: the file's own.
        error: what a call that failed was answered with.
        group: what the calls of one message share.
        words: what the agent said beside it.
        reads: whether the file says that it is a read.
        idle: whether the file says that it is a write that changed nothing.
        t_start, t_end: UTC epoch, s; None where the file does not say.
    """

    name: str | None
    arguments: Mapping[str, Any]
    status: CallStatus | None
    status_from: str
    id: str | None = None
    result: Any = None
    error: str | None = None
    group: int | None = None
    words: str = ""
    reads: bool = False
    idle: bool = False
    t_start: float | None = None
    t_end: float | None = None

    def call(self) -> Call | None:
        """Return it as the scorer takes it; None without a status."""
        if self.status is None:
            return None
        return Call(
            self.name or "",
            self.arguments,
            self.status,
            self.result,
            reads=self.reads,
            idle=self.idle,
            group=self.group,
            words=self.words,
        )


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the conversation.

    Attributes:
        role: `system`, `user`, `assistant` or `tool`.
        calls: the numbers of the calls that it makes, or answers.
        input_tokens, output_tokens, seconds: its cost; None where the file does not say.
        t: UTC epoch, s; None where the file does not say.
    """

    role: str
    text: str
    calls: tuple[int, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float | None = None
    t: float | None = None


@dataclass(frozen=True, slots=True)
class ImportedTrace:
    """A trace of a file.

    Attributes:
        id: as the file names it, or its number.
        number: its place in the file, from 1.
        task: the id of its task; None where the file names none.
        messages: all, in order, with the system prompt and the user's.
        tools: those that were offered; empty where the file has none.
        reward: of the file's own judge; None where it has none.
        gold: the file's own answer to the task; None where it has none.
        agent: the model or agent that acted; None where the file does not say.
        domain: the set of tasks that it is of; None where the file does not say.
        end: how it ended, in the log's words (`done`, `max_steps`, ...); None where the file does not say.
        failure: why it ended as an error; None where it did not.
        started, ended: UTC epoch, s; None where the file does not say.
        seconds: its duration; None where the file does not say.
        asked: what the task asks, where the file says that beside the conversation.
        logged: of an episode of this kit, what its log had of it: columns of the episode, and the definition
            of its task.
    """

    id: str
    number: int
    task: str | None
    messages: tuple[Message, ...]
    calls: tuple[MadeCall, ...]
    tools: tuple[ToolSpec, ...] = ()
    reward: float | None = None
    gold: Gold | None = None
    agent: str | None = None
    domain: str | None = None
    seed: int | None = None
    end: str | None = None
    said: str | None = None
    failure: str | None = None
    started: float | None = None
    ended: float | None = None
    seconds: float | None = None
    asked: str = ""
    logged: Mapping[str, Any] = field(default_factory=dict)

    @property
    def system(self) -> str:
        """The system prompt; empty where the file has none."""
        return "\n\n".join(message.text for message in self.messages if message.role == "system")

    @property
    def prompt(self) -> str:
        """What the task asks, or the user's first message; empty where the file has neither."""
        return self.asked or next((message.text for message in self.messages if message.role == "user"), "")


@dataclass(frozen=True, slots=True)
class BrokenRecord:
    """A record that cannot be read: its place in the file, from 1, and why, with the key."""

    number: int
    why: str
