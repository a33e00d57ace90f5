"""System turns for training: the scaffold's own words, and others, so that a model does not hang on the words.

A change of the system prompt must not undo a model that ships, so half of the batches have other sentences, the
tools in another order, and sometimes a tool more.
"""

from __future__ import annotations

from random import Random

from agents.scaffolds.prompting import system_prompt
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
    "If the task cannot or must not be done, say so and stop.",
    "Read where a thing is before you go there.",
    "Answer shortly when all is done.",
    "Use the names as they are given.",
    "Do not guess.",
)
MORE_TOOLS = (
    ("decline", "End the task: it cannot or must not be done.", {"reason": "string"}),
    ("done", "End the task: all is done.", {}),
    ("wait", "Wait some seconds.", {"seconds": "number"}),
    ("say", "Tell the user something.", {"text": "string"}),
)


def system_turn(device: DeviceType, rng: Random | None = None) -> str:
    """Return the system turn that the native scaffold writes; with `rng`, often another one for the same tools."""
    schemas, words = device.schemas(), system_prompt(device.advice)
    if rng is not None and rng.random() < OTHER_WORDS:
        schemas = list(schemas)
        if rng.random() < 0.3:
            name, description, fields = rng.choice(MORE_TOOLS)
            properties = {field: {"type": kind} for field, kind in fields.items()}
            function = {"name": name, "description": description, "parameters": {"properties": properties}}
            schemas.append({"function": function})
        if rng.random() < 0.5:
            rng.shuffle(schemas)
        if rng.random() < 0.7:
            words = " ".join(rng.sample(SENTENCES, rng.randint(1, 7)))
    return system_text(words, schemas)
