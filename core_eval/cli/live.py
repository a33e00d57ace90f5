"""A run as it happens: a line for each call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from configs.tasks_loader import Task
from core_eval.harness.listener import Listener
from core_eval.log import EpisodeRow
from core_eval.report.fitted_table import Hanging
from core_eval.report.tables import cell, status_text, step_line
from devices.outcome import Outcome

SHOWN = (("path_correctness", "PC"), ("harmful_calls", "harmful"), ("unobserved_harm", "unobserved harm"))


class LiveLines(Listener):
    """A `Listener` that prints compact lines."""

    def __init__(self, console: Console, *, steps: bool = True) -> None:
        self._console = console
        self._steps = steps

    def episode_started(self, episode: int, task: Task, agent: str, seed: int) -> None:
        """A line with the task, the agent and the seed."""
        self._console.print(Text(f"episode {episode}  {task.id}  {agent}  seed {seed}", style="bold"))

    def step(
        self, k: int, tool: str | None, arguments: Mapping[str, Any], outcome: Outcome, kind: str
    ) -> None:
        """A line with the call and what became of it."""
        if self._steps:
            note = "" if outcome.status == "ok" else outcome.code or ""
            line = step_line(k, tool, arguments, outcome.status, kind, note)
            self._console.print(Hanging(line))

    def episode_ended(self, episode: EpisodeRow) -> None:
        """A line with the main scores."""
        shown = "  ".join(f"{heading} {cell(name, episode.scores.get(name), 1)}" for name, heading in SHOWN)
        status = status_text(episode)
        self._console.print(Text.assemble("     ", status, f"  {shown}", style="dim"))


class Silent(Listener):
    """A `Listener` that prints nothing."""
