"""A made-up episode: a prompt, calls with the results that a device would send, and a last word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.scaffolds.prompting import DECLINE, compact_json, error_value
from devices.device_type import DeviceType
from devices.tool import ToolResult


@dataclass(frozen=True, slots=True)
class Turn:
    """One call and its result as the model reads it, None where the episode ends with the call.

    `learn` is false for a mistake that shows a refusal.
    """

    tool: str
    arguments: Mapping[str, Any]
    result: str | None
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

    def decline(self) -> None:
        """End the episode by declining the task: no result and no last word follow."""
        self.turns.append(Turn(DECLINE, {}, None))

    def refused(self, tool: str, code: str, message: str, /, **arguments: Any) -> None:
        """Add a mistake that the device refuses: it is shown and not learned."""
        self.turns.append(Turn(tool, arguments, compact_json(error_value(code, message)), learn=False))
