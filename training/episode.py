"""A made-up episode: a prompt, calls with the results that a device would send, and a last word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.scaffolds.prompting import TRAINED_ON, compact_json, error_value
from devices.device_type import DeviceType
from devices.tool import ToolResult
from training.chat_format import answer_text, call_text, response_text, system_text, user_text


@dataclass(frozen=True, slots=True)
class Turn:
    """One call and its result as the model reads it; `learn` is false for a mistake that shows a refusal."""

    tool: str
    arguments: Mapping[str, Any]
    result: str
    learn: bool = True


@dataclass
class Episode:
    """An episode in the making; `device` says whose tools it calls."""

    device: DeviceType
    prompt: str
    turns: list[Turn] = field(default_factory=list)
    answer: str = "Done."

    def call(self, tool: str, result: ToolResult, /, **arguments: Any) -> None:
        """Add a call that succeeds. The arguments are checked against the tool's schema."""
        self.device.validate(tool, arguments)
        self.turns.append(Turn(tool, arguments, compact_json(result.model_dump())))

    def refused(self, tool: str, code: str, message: str, /, **arguments: Any) -> None:
        """Add a mistake that the device refuses: it is shown and not learned."""
        self.turns.append(Turn(tool, arguments, compact_json(error_value(code, message)), learn=False))


def system_turn(device: DeviceType, order: Sequence[int] | None = None) -> str:
    """Return the system turn for a device's tools, in the device's own order or another one."""
    schemas = device.schemas()
    return system_text(TRAINED_ON, [schemas[i] for i in order] if order else schemas)


def pieces(episode: Episode) -> list[tuple[str, bool]]:
    """Return the episode after the system turn, in pieces: text, and whether the model writes it."""
    parts = [(user_text(episode.prompt), False)]
    for turn in episode.turns:
        parts.append((call_text(turn.tool, turn.arguments), turn.learn))
        parts.append((response_text(turn.result), False))
    parts.append((answer_text(episode.answer), True))
    return parts
