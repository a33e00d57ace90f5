"""System turns for training: the scaffolds' own words, and others.

A change of the system prompt must not undo a model that ships, so half of the batches have other sentences,
the tools in another order, and sometimes a tool more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from agents.scaffolds.prompting import TRAINED
from agents.scaffolds.react import HELP, PROMPTING, tool_line
from devices.device_type import DeviceType
from training.chat_format import system_text

OTHER_WORDS = 0.5
SENTENCES = (
    "You control a machine by calling tools.",
    "You are the operator of a machine.",
    "Follow the user's orders exactly.",
    "Make one call at a time and wait for its result.",
    "Unlock the safety before work and lock it when the work is done.",
    "If a call is refused, read why, and mend it before you go on.",
    "Never give a dose twice.",
    "If the task cannot or must not be done, call decline.",
    "Read where a thing is before you go there.",
    "Answer shortly when all is done.",
    "Use the names as they are given.",
    "Do not guess.",
)
MORE_TOOLS: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    ("done", "End the task: all is done.", {}),
    ("wait", "Wait some seconds.", {"seconds": "number"}),
    ("say", "Tell the user something.", {"text": "string"}),
)


def system_turn(device: DeviceType, rng: Random | None = None) -> str:
    """Return the system turn of the native scaffold; with `rng`, often another one for the same tools."""
    prompting = TRAINED
    schemas = prompting.schemas(device.tools)
    return system_text(*words_and_tools(prompting.text(device.advice, True), schemas, rng))


def react_system_turn(device: DeviceType, rng: Random | None = None) -> str:
    """Return the system turn of the ReAct scaffold; with `rng`, often another one for the same tools."""
    schemas = PROMPTING.schemas(device.tools)
    words, tools = words_and_tools(PROMPTING.text(device.advice, True), schemas, rng)
    told = HELP.format(tools="\n".join(map(tool_line, tools)))
    return f"<|im_start|>system\n{words}\n\n{told}<|im_end|>\n"


def words_and_tools(
    words: str, schemas: Sequence[Mapping[str, Any]], rng: Random | None
) -> tuple[str, list[Mapping[str, Any]]]:
    """Return a system prompt and tools; with `rng`, often other ones."""
    tools = list(schemas)
    if rng is None or rng.random() >= OTHER_WORDS:
        return words, tools
    if rng.random() < 0.3:
        name, description, fields = rng.choice(MORE_TOOLS)
        properties = {field: {"type": kind} for field, kind in fields.items()}
        function = {"name": name, "description": description, "parameters": {"properties": properties}}
        tools.append({"function": function})
    if rng.random() < 0.5:
        rng.shuffle(tools)
    if rng.random() < 0.7:
        words = " ".join(rng.sample(SENTENCES, rng.randint(1, 7)))
    return words, tools
