"""The messages of a conversation, in the shapes that chat templates and servers take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from agents.formats.template_use import said_by_user

Beside = Literal["with them", "in the thoughts", "words", "before them", "nothing"]
"""Where words and thoughts of an answer stand that calls; `words` are its words alone."""


def without_refused(message: Mapping[str, Any], beside: Beside) -> list[Mapping[str, Any]]:
    """Return an answer as a template takes it, perhaps in two; any other message as it is.

    An answer without words and calls is a space: some templates refuse an empty one, and others its absence.
    """
    words, thoughts = message.get("content") or "", message.get("reasoning_content") or ""
    if message["role"] != "assistant" or (beside == "with them" and message.get("tool_calls")):
        return [message]
    if not message.get("tool_calls"):
        return [{**message, "content": words or " "}]
    calls = {key: value for key, value in message.items() if key != "reasoning_content"} | {"content": ""}
    if beside == "in the thoughts" and (words or thoughts):
        return [{**calls, "reasoning_content": "\n\n".join(filter(None, (thoughts, words)))}]
    if beside == "before them" and words:
        return [{key: value for key, value in message.items() if key != "tool_calls"}, calls]
    return [{**calls, "content": words if beside == "words" else ""}]


def one_by_one(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with an answer of its own for each call that has a result."""
    put: list[dict[str, Any]] = []
    later: list[dict[str, Any]] = []
    for message in messages:
        new = dict(message)
        if new.get("tool_calls"):
            first, *rest = new["tool_calls"]
            later = [{"role": "assistant", "content": "", "tool_calls": [call]} for call in rest]
            new["tool_calls"] = [first]
        elif new["role"] == "tool" and put[-1]["role"] == "tool" and later:
            put.append(later.pop(0))
        put.append(new)
    return put


def paired(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with an id for each call, and its id and name for each result.

    A result without a call, which says that none could be read, becomes a message of the user: templates
    refuse it otherwise.
    """
    put: list[dict[str, Any]] = []
    waiting: list[tuple[str, str]] = []
    number = 0
    for message in messages:
        new = dict(message)
        if new.get("tool_calls"):
            calls = []
            for call in new["tool_calls"]:
                # Nine letters and digits, as Mistral's templates demand.
                calls.append({"id": f"call{number:05d}", **call})
                number += 1
            new["tool_calls"] = calls
            waiting = [(call["id"], call["function"]["name"]) for call in calls]
        elif new["role"] == "tool" and waiting:
            new["tool_call_id"], new["name"] = waiting.pop(0)
        elif new["role"] == "tool":
            new = {"role": "user", "content": said_by_user(new["content"])}
        put.append(new)
    return put
