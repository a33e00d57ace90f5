"""The interface between scaffolds and models: one answer to a conversation with tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from agents.agent import Usage
from agents.deadline import Deadline
from agents.formats.calls import CallText, Nonsense
from agents.formats.format import Format

Message = dict[str, Any]
ReplyStop = Literal["end", "refused", "tokens", "time", "context"]


@dataclass(frozen=True, slots=True)
class ReplyItem:
    """A call in an answer, or an unreadable attempt; `call_id` if the backend gives calls an id."""

    what: CallText | Nonsense
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer.

    Attributes:
        message: the answer as the conversation goes on with it.
        items: its calls, in order.
        stop: why it ended: by itself, as a refusal, or at a limit (it may then be cut short).
        usage: what it cost.
    """

    message: Message
    items: tuple[ReplyItem, ...]
    stop: ReplyStop
    usage: Usage


@dataclass(frozen=True, slots=True)
class PlainText:
    """A conversation in plain text: the prompt describes the tools, and calls are text of the answer.

    Attributes:
        form: the syntax of calls.
        stop: texts at which an answer ends; they are no part of it.
    """

    form: Format
    stop: tuple[str, ...] = ()


FIRST_ANSWER_TOKENS = 16
"""The fewest tokens of an answer that makes a call."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Tokens a second: of a prompt, and of writing."""

    prompt: float
    writing: float

    def first_answer(self, prompt_tokens: int) -> float:
        """Return the time from the prompt to the end of a short first answer, s."""
        return prompt_tokens / self.prompt + FIRST_ANSWER_TOKENS / self.writing


@dataclass(frozen=True, slots=True)
class FirstAnswer:
    """The cost of a first answer: the tokens of its prompt, and the speed."""

    prompt_tokens: int
    speed: Speed


class ChatBackend(Protocol):
    """A model that answers a conversation.

    Optional: `options` and `model_info` are logged (see `agents.agent`); `render(messages)` returns a
    conversation as the text that the model gets; `check(messages, limits)` returns a `FirstAnswer` with the
    tools of `start`, and raises AgentSpecError where context or limits do not take one.
    """

    @property
    def name(self) -> str:
        """What the log calls it."""

    def start(self, seed: int, schemas: Sequence[Mapping[str, Any]], plain: PlainText | None = None) -> None:
        """Begin an episode with these tools (function schemas), rendered by the template, or `plain`."""

    def answer(self, messages: Sequence[Message], *, tokens: int, deadline: Deadline) -> Reply:
        """Return the next answer, of at most so many tokens, before the deadline.

        Raises:
            agents.errors.BackendError: the model cannot be reached or run.
            agents.deadline.CancelledError: the episode was cancelled meanwhile.
        """

    def close(self) -> None:
        """Release the model."""


def rendered_by(backend: ChatBackend, messages: Sequence[Message]) -> str | None:
    """Return a conversation as the text that the model gets; None where the backend does not render it."""
    render = getattr(backend, "render", None)
    return None if render is None else render(messages)
