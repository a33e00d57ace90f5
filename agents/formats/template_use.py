"""How a conversation with tools is put to one chat template: which of its roles and variables serve."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from agents.formats.calls import CallText, to_json
from agents.formats.format import Format
from agents.formats.signature import signature

CALL_HELP = (
    "\n\n# Tools\n\nYou have these tools:\n<tools>\n{tools}\n</tools>\n\n"
    "To call a tool, answer with\n{call}\nand nothing else."
)
EXAMPLE = CallText("NAME", {"KEY": "VALUE"})
ToolsGiven = Literal["variable", "system message", "words"]
CallsGiven = Literal["objects", "JSON strings", "words"]
NO_WORDS = ("", None, False)
"""The content of a message that only makes calls: empty, null, left out."""


@dataclass(frozen=True, slots=True)
class TemplateUse:
    """One way of putting a conversation.

    Attributes:
        tools: the template's own variable takes the schemas; its system message does; or the system prompt
            has them in words.
        calls: made calls are given with arguments as objects, as JSON strings, or as text of the answer.
        results: whether the role `tool` is taken; else results are said by the user.
        system: whether the role `system` is taken; else the system prompt begins the user's first message.
        no_words: the content of a message that only makes calls.
        described: whether each argument needs a description.
        short: whether tools are given as signatures, not as function schemas.
    """

    tools: ToolsGiven
    calls: CallsGiven
    results: bool
    system: bool
    no_words: str | bool | None
    described: bool
    short: bool = False

    def messages(
        self, messages: Sequence[Mapping[str, Any]], schemas: Sequence[Mapping[str, Any]], form: Format
    ) -> list[dict[str, Any]]:
        """Return the messages as the template is given them."""
        put: list[dict[str, Any]] = []
        for message in messages:
            self._put(put, message, schemas, form)
        return put

    def _put(
        self,
        put: list[dict[str, Any]],
        message: Mapping[str, Any],
        schemas: Sequence[Mapping[str, Any]],
        form: Format,
    ) -> None:
        new = dict(message)
        if new["role"] == "system":
            if schemas and self.tools == "words":
                listed = "\n".join(map(to_json, self._shown(schemas)))
                new["content"] += CALL_HELP.format(tools=listed, call=form.write([EXAMPLE]))
            elif schemas and self.tools == "system message":
                shown = self._shown(schemas)
                new["tools"] = to_json(shown if self.short else [schema["function"] for schema in schemas])
            if not self.system:
                new = {"role": "user", "content": new["content"], "joined": True}
        elif new["role"] == "tool" and not self.results:
            new = {"role": "user", "content": said_by_user(new["content"])}
        elif new.get("tool_calls"):
            self._put_calls(new, form)
        if put and put[-1]["role"] == "user" == new["role"]:
            joined = put[-1].pop("joined", False)
            put[-1]["content"] += ("\n\n" if joined else "\n") + new["content"]
        else:
            put.append(new)

    def _put_calls(self, message: dict[str, Any], form: Format) -> None:
        calls = [call["function"] for call in message["tool_calls"]]
        words = message.get("content") or ""
        if self.calls == "words":
            del message["tool_calls"]
            text = form.write([CallText(call["name"], call["arguments"]) for call in calls])
            message["content"] = f"{words}\n{text}".lstrip("\n")
            return
        if self.calls == "JSON strings":
            message["tool_calls"] = [
                {**call, "function": {**function, "arguments": to_json(function["arguments"])}}
                for call, function in zip(message["tool_calls"], calls, strict=True)
            ]
        if not words:
            if self.no_words is False:
                message.pop("content", None)
            else:
                message["content"] = self.no_words

    def schemas(self, schemas: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]] | None:
        """Return the schemas as the template's variable takes them; None where it has none."""
        if self.tools != "variable" or not schemas:
            return None
        return [_described(schema) for schema in schemas] if self.described else self._shown(schemas)

    def _shown(self, schemas: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [signature(schema) if self.short else schema for schema in schemas]


def said_by_user(result: str) -> str:
    """Return a result as a message of the user."""
    return f"<tool_response>\n{result}\n</tool_response>"


def _described(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    copy = json.loads(json.dumps(schema))
    for argument in copy["function"].get("parameters", {}).get("properties", {}).values():
        argument.setdefault("description", "")
        argument.setdefault("type", "string")
    return dict(copy)


def ways(variables: frozenset[str]) -> list[TemplateUse]:
    """Return all ways, the best first: what the template has itself before what is said in words."""
    tools: tuple[ToolsGiven, ...] = ("variable", "system message", "words")
    if not variables & TOOL_VARIABLES:
        tools = tools[1:]
    calls: tuple[CallsGiven, ...] = ("objects", "JSON strings", "words")
    return [
        TemplateUse(*way)
        for way in product(tools, calls, (True, False), (True, False), NO_WORDS, (False, True))
    ]


TOOL_VARIABLES = frozenset(("tools", "xml_tools", "functions"))
