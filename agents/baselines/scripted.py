"""The agent that reads its calls from a file: a line a call, `{"name": TOOL, "arguments": {...}}`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agents.agent import AgentSpecError, EpisodeContext, StopAction, StopReason, ToolCallAction
from agents.baselines.fixed_actions import FixedActions
from core_eval.text.foreign_json import ForeignJsonError, parse_json

ENDINGS: dict[str, tuple[StopReason, str]] = {"done": ("done", "answer"), "decline": ("decline", "reason")}
"""The endings, with the argument in which each says something."""


class ScriptedAgent(FixedActions):
    """Makes the calls of the file, in order, whatever comes of them; then it is done.

    `decline` and `done`, where the rig has no tool of that name, end the episode with their `reason` or
    `answer`.
    """

    def __init__(self, path: Path) -> None:
        """Read the whole file.

        Raises:
            AgentSpecError: naming the file, the line and what is wrong with it.
        """
        self.name = f"scripted:{path.name}"
        self._script = [ToolCallAction(*call) for call in read_script(path)]
        super().__init__(self._script)

    def start(self, context: EpisodeContext) -> None:
        """Begin at the first line."""
        super().start(context)
        tools = {tool.name for tool in context.tools}
        end = next(
            (k for k, call in enumerate(self._script) if call.name in ENDINGS and call.name not in tools),
            None,
        )
        self._actions = self._script[:end]
        if end is not None:
            last = self._script[end]
            ending, word = ENDINGS[last.name]
            self._end = StopAction(ending, said=str(last.arguments.get(word, "")))


def read_script(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls of a script; empty lines count as lines and nothing else.

    Raises:
        AgentSpecError: naming the file, the line and what is wrong with it.
    """
    try:
        # By newlines alone: JSON text may hold other signs that end a line, such as U+2028.
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise AgentSpecError(f"{path}: cannot read the script: {reason}") from None
    return [_call(path, number, line) for number, line in enumerate(lines, start=1) if line.strip()]


def _call(path: Path, number: int, line: str) -> tuple[str, dict[str, Any]]:
    where = f"{path}, line {number}"
    form = 'write {"name": TOOL, "arguments": {...}}'
    try:
        record = parse_json(line, strict_numbers=False)
    except ForeignJsonError as error:
        reason = str(error).removeprefix("no JSON: ")
        raise AgentSpecError(f"{where}: not JSON ({reason}); {form}") from None
    if not isinstance(record, dict):
        raise AgentSpecError(f"{where}: not an object; {form}")
    unknown = sorted(set(record) - {"name", "arguments"})
    if unknown:
        raise AgentSpecError(f"{where}: unknown key {unknown[0]!r}; {form}")
    name, arguments = record.get("name"), record.get("arguments", {})
    if not isinstance(name, str) or not name:
        raise AgentSpecError(f"{where}: `name` must be the name of a tool; {form}")
    if not isinstance(arguments, dict):
        raise AgentSpecError(f"{where}: `arguments` must be an object; {form}")
    return name, arguments
