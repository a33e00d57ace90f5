"""Render a conversation with a model's own chat template, in jinja's sandbox, as transformers does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from agents.errors import BackendError
from agents.formats.chatml import CHAT_TEMPLATE

CALL_HELP = (
    "\n\n# Tools\n\nYou have these tools:\n<tools>\n{tools}\n</tools>\n\nTo call a tool, answer with\n"
    '<tool_call>\n{{"name": NAME, "arguments": {{...}}}}\n</tool_call>\nand nothing else.'
)


class ChatTemplate:
    """One model's template.

    A model without a template gets the shipped model's ChatML. A template that knows nothing of `<tool_call>`
    gets the tools in the system prompt, and calls and results as plain words.
    """

    def __init__(self, source: str | None, *, bos: str = "", eos: str = "") -> None:
        """Compile the template.

        Raises:
            BackendError: it does not compile.
        """
        source = source or CHAT_TEMPLATE
        self.knows_tools = "<tool_call>" in source
        self._tokens = {"bos_token": bos, "eos_token": eos}
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols]
        )
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _raise
        environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
        try:
            self._template = environment.from_string(source)
        except jinja2.TemplateError as error:
            raise BackendError(f"the model's chat template does not compile: {error}") from None

    def render(self, messages: Sequence[Mapping[str, Any]], schemas: Sequence[Mapping[str, Any]]) -> str:
        """Return the conversation as text, with the head of the next answer.

        Raises:
            BackendError: the template refuses the conversation.
        """
        tools: Sequence[Mapping[str, Any]] | None = schemas or None
        if not self.knows_tools:
            messages, tools = plain_words(messages, schemas), None
        try:
            return self._template.render(
                messages=messages, tools=tools, add_generation_prompt=True, **self._tokens
            )
        except Exception as error:  # a template is foreign code: it may raise anything
            raise BackendError(f"the model's chat template fails: {type(error).__name__}: {error}") from None


def plain_words(
    messages: Sequence[Mapping[str, Any]], schemas: Sequence[Mapping[str, Any]]
) -> list[dict[str, str]]:
    """Return a conversation with tools as one of system, user and assistant words alone."""
    plain: list[dict[str, str]] = []
    for message in messages:
        role, words = message["role"], message.get("content") or ""
        if role == "system" and schemas:
            words += CALL_HELP.format(tools="\n".join(_to_json(schema) for schema in schemas))
        elif role == "tool":
            role, words = "user", f"<tool_response>\n{words}\n</tool_response>"
        for call in message.get("tool_calls") or ():
            function = {"name": call["function"]["name"], "arguments": call["function"]["arguments"]}
            words = f"{words}\n<tool_call>\n{_to_json(function)}\n</tool_call>".lstrip()
        if plain and plain[-1]["role"] == role == "user":
            plain[-1]["content"] += "\n" + words
        else:
            plain.append({"role": role, "content": words})
    return plain


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _raise(message: str) -> None:
    raise jinja2.TemplateError(message)
