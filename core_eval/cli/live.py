"""The terminal lines of a running run."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from core_eval.log import LEFT_RECORD, EpisodeRow
from core_eval.log.events import (
    EpisodeEnded,
    EpisodePlanned,
    EpisodeStarted,
    Event,
    Remarked,
    RigReady,
    RigStatus,
    Stepped,
)
from core_eval.path.calls import CallStatus
from core_eval.report.tables.agents import cell, status_text, step_line
from core_eval.report.tables.fitted_table import Hanging
from core_eval.score.metrics import BRIEF, BY_NAME
from core_eval.text.durations import seconds_text

WORTH_SECONDS = 2.0


class LiveLines:
    """An observer that prints a line for each episode and, unless `steps` is False, for each step.

    With `rigs` it names the rig of each episode.
    """

    def __init__(self, console: Console, *, steps: bool = True, rigs: bool = False) -> None:
        self._console = console
        self._steps = steps
        self._rigs = rigs
        self._place = ""

    def __call__(self, event: Event) -> None:
        """Print the event's line, if it has one."""
        match event:
            case Stepped(k, tool, arguments, outcome, kind) if self._steps:
                note = "" if outcome.status == CallStatus.OK else outcome.code or ""
                line = step_line(k, tool, arguments, outcome.status, kind, note)
                self._console.print(Hanging(line))
            case RigReady(rig, device, _) if self._rigs:
                self._console.print(Hanging(Text(f"     rig {rig} ({device})", style="dim")))
            case Remarked(_, remark):
                self._console.print(Hanging(Text(f"     {remark}", style="yellow")))
            case RigStatus("host", state) if self._steps and state == LEFT_RECORD:
                self._console.print(Text(f"     {state}", style="yellow"))
            case EpisodeStarted(episode, task, agent, seed):
                line = Text(f"episode {episode}  {task.id}  {agent}  seed {seed}", style="bold")
                self._console.print(Hanging(line.append(self._place, style="not bold dim")))
            case EpisodePlanned(place, total, left):
                self._place = "" if total == 1 else f"  {place} of {total}{time_left(left)}"
            case EpisodeEnded(row):
                self._console.print(_scores(row))
                if row.error is not None:
                    self._console.print(Hanging(Text(f"     {row.error}", style="yellow")))


def time_left(seconds: float | None) -> str:
    """Return the time left in words, after a comma; nothing where it is not known or short."""
    return "" if seconds is None or seconds < WORTH_SECONDS else f", about {seconds_text(seconds)} left"


def _scores(episode: EpisodeRow) -> Text:
    shown = "  ".join(
        f"{metric.short or metric.heading} {cell(metric.name, episode.scores.get(metric.name), 1)}"
        for metric in map(BY_NAME.__getitem__, BRIEF)
    )
    return Text.assemble("     ", status_text(episode), f"  {shown}", style="dim")
