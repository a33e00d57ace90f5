"""The ReAct scaffold: thought, action, observation, in plain text that is the same for every model.

The system prompt describes the tools, the model writes `Action:` and `Action Input:`, and results
come as `Observation:` from the user. So only the template's plain turns are used.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agents.agent import (
    FirstPrompt,
    Limits,
    ModelInfo,
)
from agents.backends.backend import (
    ChatBackend,
    FirstAnswer,
    Message,
    PlainText,
    Reply,
    ReplyItem,
)
from agents.deadline import Deadline
from agents.formats import react
from agents.formats.calls import CallText, Nonsense, to_json
from agents.formats.signature import SCHEMAS, SIGNATURES, signature
from agents.scaffolds.native import NativeScaffold
from agents.scaffolds.own_prompt import OwnPrompt
from agents.scaffolds.prompting import NOT_TRAINED_ON, Prompting, system_prompt

OBSERVATION = "Observation:"
PLAIN = PlainText(react.FORMAT, stop=(OBSERVATION,))
EXAMPLE = react.FORMAT.write([CallText("the tool's name", {})]).removesuffix("{}")
HELP = (
    "These are the tools, each with its input:\n{tools}\n\n"
    "Write each answer in this form, and nothing after it:\n"
    "Thought: what you know, and what to do next\n"
    + EXAMPLE
    + "its input as a JSON object; {{}} if it has none\n\n"
    "You are then told the result as\n" + OBSERVATION + " the result, as JSON\n\n"
    "When all is done, write this instead:\n"
    "Thought: why the task is done\n"
    "Final Answer: one short sentence"
)
MARKS = re.compile(react.label("Thought|Action|Action[ _]?Input"))
ANSWERED = "answered"
"""Marks the model's own answers in a conversation."""
NO_ACTION = "write an Action with its Action Input, or the Final Answer"
PROMPTING = Prompting("react", lambda advice, declines: system_prompt(advice, declines, end=""))


class ReactScaffold(NativeScaffold):
    """An agent out of any chat backend, by ReAct; limits, refusals and declining are as in `NativeScaffold`.

    An answer with the marks of ReAct and neither an action nor a final answer is an `InvalidAction`, as is an
    empty one. Words without marks are a final answer.
    """

    scaffold = "react"

    def __init__(
        self,
        backend: ChatBackend,
        *,
        own: OwnPrompt | None = None,
        answer_tokens: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prompt a backend; the arguments are those of `NativeScaffold`."""
        self._short_tools = own is None or own.short_tools
        self._chat = ReactChat(backend, short_tools=self._short_tools)
        prompting = replace(PROMPTING, without=NOT_TRAINED_ON) if backend.trained_here else PROMPTING
        super().__init__(self._chat, own=own, answer_tokens=answer_tokens, prompting=prompting, clock=clock)

    @property
    def options(self) -> Mapping[str, Any]:
        """The backend's options, which prompt is used, and how it shows the tools."""
        shown = SIGNATURES if self._short_tools else SCHEMAS
        return {**super().options, "format": react.FORMAT.name, "tools": shown}

    @property
    def model_info(self) -> ModelInfo:
        """The facts about the backend's model, with the first prompt as the backend gets it."""
        info = super().model_info
        if info.first_prompt is None:
            return info
        return replace(info, first_prompt=self._chat.in_words(info.first_prompt))


class ReactChat(ChatBackend):
    """A chat backend that passes a conversation with tools to another one as ReAct text."""

    def __init__(self, backend: ChatBackend, *, short_tools: bool = True) -> None:
        self._backend = backend
        self.name = backend.name
        self._tool_line = tool_line if short_tools else whole_tool_line
        self._help = ""

    @property
    def options(self) -> Mapping[str, Any]:
        """The backend's options."""
        return self._backend.options

    @property
    def model_info(self) -> ModelInfo:
        """The facts about the backend's model."""
        return self._backend.model_info

    def in_words(self, prompt: FirstPrompt) -> FirstPrompt:
        """Return a prompt as the backend gets it: without tools beside the messages."""
        return replace(prompt, messages=tuple(self._put(prompt.messages)), tools=())

    def render(self, messages: Sequence[Message]) -> str | None:
        """Return a conversation as the text that the model gets; None where a server renders it."""
        return self._backend.render(self._put(messages))

    def check(self, messages: Sequence[Message], limits: Limits) -> FirstAnswer | None:
        """Return the cost of a first answer as the backend estimates it; None where it does not."""
        return self._backend.check(self._put(messages), limits)

    def start(self, seed: int, schemas: Sequence[Mapping[str, Any]], plain: PlainText | None = None) -> None:
        """Begin an episode with these tools."""
        self._help = HELP.format(tools="\n".join(map(self._tool_line, schemas)))
        self._backend.start(seed, schemas, PLAIN)

    def answer(self, messages: Sequence[Message], *, tokens: int, deadline: Deadline) -> Reply:
        """Return the next answer; raises as the backend does."""
        reply = self._backend.answer(self._put(messages), tokens=tokens, deadline=deadline)
        content = str(reply.message.get("content") or "")
        reply = replace(reply, message={**reply.message, ANSWERED: True})
        if reply.stop == "end" and not reply.items and not is_final(content):
            nonsense = Nonsense("no_action", NO_ACTION, content)
            reply = replace(reply, items=(ReplyItem(nonsense),))
        return reply

    def close(self) -> None:
        """Close the backend."""
        self._backend.close()

    def _put(self, messages: Sequence[Mapping[str, Any]]) -> list[Message]:
        """Return the conversation with tools and results as text."""
        put: list[Message] = []
        observed = False
        for message in messages:
            if message["role"] == "system":
                put.append({"role": "system", "content": f"{message['content']}\n\n{self._help}"})
            elif message["role"] == "assistant":
                put.append(in_words(message))
            elif message["role"] != "tool":
                put.append(dict(message))
            elif observed:
                put[-1]["content"] += f"\n{OBSERVATION} {message['content']}"
            else:
                put.append({"role": "user", "content": f"{OBSERVATION} {message['content']}"})
            observed = message["role"] == "tool"
        return put


def in_words(message: Mapping[str, Any]) -> Message:
    """Return an answer as the model wrote it; one of an example as ReAct text."""
    others = {key: value for key, value in message.items() if key not in (ANSWERED, "tool_calls")}
    if ANSWERED in message:
        return others
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    if calls:
        content = react.FORMAT.write([CallText(call["name"], call["arguments"]) for call in calls])
    else:
        content = f"Final Answer: {message['content']}"
    return {**others, "content": content}


def tool_line(schema: Mapping[str, Any]) -> str:
    """Describe a tool: its name, what it does, and its input."""
    short = signature(schema)
    return f"- {short['name']}: {short['description']} Input: {to_json(short.get('parameters', {}))}"


def whole_tool_line(schema: Mapping[str, Any]) -> str:
    """Return a tool in words, with the whole schema of its input."""
    function = schema["function"]
    return f"- {function['name']}: {function['description']} Input: {to_json(function['parameters'])}"


def is_final(words: str) -> bool:
    """Return whether an answer without an action ends the episode."""
    return react.FINAL.search(words) is not None or (bool(words.strip()) and MARKS.search(words) is None)
