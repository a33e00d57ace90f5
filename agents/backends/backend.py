"""The interface between scaffolds and models: one answer to a conversation with tools."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from agents.agent import Limits, ModelInfo, Usage
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


class ChatBackend(ABC):
    """A model that answers a conversation.

    Attributes:
        name: what the log calls it.
        trained_here: whether this project trained the model, so that it knows the prompt of its training.
    """

    name: str = ""
    trained_here: bool = False

    @cached_property
    def options(self) -> Mapping[str, Any]:
        """Return what was chosen for it; see `Agent.options`."""
        return {}

    @cached_property
    def model_info(self) -> ModelInfo:
        """Return the facts about its model; this process alone where there are none."""
        return ModelInfo(os.getpid())

    def render(self, messages: Sequence[Message]) -> str | None:
        """Return a conversation as the text that the model gets; None where a server renders it."""
        return None

    def check(self, messages: Sequence[Message], limits: Limits) -> FirstAnswer | None:
        """Return the cost of a first answer with the tools of `start`; None where it is not estimated.

        Raises:
            agents.agent.AgentSpecError: context or limits do not take one.
        """
        return None

    @abstractmethod
    def start(self, seed: int, schemas: Sequence[Mapping[str, Any]], plain: PlainText | None = None) -> None:
        """Begin an episode with these tools (function schemas), rendered by the template, or `plain`."""

    @abstractmethod
    def answer(self, messages: Sequence[Message], *, tokens: int, deadline: Deadline) -> Reply:
        """Return the next answer, of at most so many tokens, before the deadline.

        Raises:
            agents.agent.BackendError: the model cannot be reached or run.
            agents.deadline.CancelledError: the episode was cancelled meanwhile.
        """

    def close(self) -> None:  # noqa: B027  optional
        """Release the model."""
