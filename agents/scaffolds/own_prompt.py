"""The user's own prompt: a system prompt in place of the kit's, and examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from agents.agent import AgentSpecError
from agents.backends.backend import Message
from agents.options import ModelOptions
from agents.scaffolds.prompting import compact_json
from core_eval.text.foreign_json import ForeignJsonError, parse_json
from core_eval.text.foreign_text import ForeignTextError, read_text
from devices.models import FrozenModel

ADVICE = "{advice}"
"""Placeholder of the device type's advice in a system prompt."""


class ExampleStep(FrozenModel):
    """A call in an example, and its result."""

    tool: str = Field(description="the tool's name")
    arguments: Mapping[str, Any] = Field({}, description="of the call")
    result: Mapping[str, Any] = Field({}, description="what the tool answers")


class Example(FrozenModel):
    """An example: a task, calls, and the answer at the end."""

    prompt: str = Field(description="the task's words")
    steps: tuple[ExampleStep, ...] = Field((), description="its calls, in order")
    answer: str = Field("Done.", description="the model's words at the end")


@dataclass(frozen=True)
class OwnPrompt:
    """A system prompt, None for the kit's, and examples.

    Attributes:
        short_tools: whether a prompt that has the tools in words has them as signatures, not as schemas.
    """

    system: str | None = None
    examples: tuple[Example, ...] = ()
    short_tools: bool = True

    def system_prompt(self, usual: str, advice: str) -> str:
        """Return the system prompt; `usual` where none is given."""
        return usual if self.system is None else self.system.replace(ADVICE, advice).strip()


def own_prompt(options: ModelOptions) -> OwnPrompt:
    """Return the prompt that options ask for, with the content of their files.

    Raises:
        AgentSpecError: a file cannot be read, or is no list of examples.
    """
    system = options.system_prompt
    if options.system_prompt_file is not None:
        system = _text(options.system_prompt_file)
    path = options.examples_file
    return OwnPrompt(system, () if path is None else _examples(path), options.tools == "short")


def native_messages(example: Example) -> list[Message]:
    """Return an example as a chat with tool calls."""
    messages: list[Message] = [{"role": "user", "content": example.prompt}]
    for step in example.steps:
        function = {"name": step.tool, "arguments": dict(step.arguments)}
        call = {"type": "function", "function": function}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "content": compact_json(dict(step.result))})
    return [*messages, {"role": "assistant", "content": example.answer}]


def _examples(path: Path) -> tuple[Example, ...]:
    examples = []
    for number, line in enumerate(_text(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            examples.append(Example.model_validate(parse_json(line)))
        except ForeignJsonError as error:
            raise AgentSpecError(f"{path}:{number}: {error}") from None
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            key = ".".join(map(str, fault["loc"]))
            raise AgentSpecError(f"{path}:{number}: {key}: {fault['msg']}") from None
    return tuple(examples)


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except ForeignTextError as error:
        raise AgentSpecError(f"{path}: cannot be read: {error}") from None
