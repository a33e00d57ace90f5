"""The lines that a run prints on the terminal while it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass
from rich.console import Console
from rich.text import Text

from core_eval.call_status import CallStatus
from core_eval.log import (
    LEFT_RECORD,
    OF_THE_MACHINE,
    RULE,
    EpisodePlanned,
    EpisodeRow,
    Event,
    RigStatusRow,
    StepRow,
)
from core_eval.report.tables.fitted_table import Hanging
from core_eval.report.tables.texts import rule_line, status_text, step_line
from core_eval.report.tables.values import cell
from core_eval.score.metrics import BRIEF, BY_NAME
from core_eval.text.visible_text import seconds_text
from firmware_bridge.guard import RuleAction

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
            case StepRow() if self._steps:
                self._console.print(Hanging(_step(event)))
            case RigStatusRow(_, "host", "remark", dict(detail)):
                self._console.print(Hanging(Text(f"     {detail['remark']}", style="yellow")))
            case RigStatusRow(_, "host", state, dict(detail)) if state == RULE:
                if detail["action"] != RuleAction.OBSERVE:
                    self._console.print(Hanging(Text(f"     {rule_line(detail)}", style="yellow")))
            case RigStatusRow(_, "host", state, dict(detail)) if state in OF_THE_MACHINE:
                self._console.print(Hanging(Text(f"     {state}: {detail['reason']}", style="yellow")))
            case RigStatusRow(_, "host", state) if self._steps and state == LEFT_RECORD:
                self._console.print(Text(f"     {state}", style="yellow"))
            case EpisodePlanned(place, total, left):
                self._place = "" if total == 1 else f"  {place} of {total}{time_left(left)}"
            case EpisodeRow(status="running", simulated=None):
                line = Text(
                    f"episode {event.id}  {event.task}  {event.agent}  seed {event.seed}", style="bold"
                )
                self._console.print(Hanging(line.append(self._place, style="not bold dim")))
            case EpisodeRow(status="running"):
                if self._rigs:
                    self._console.print(Hanging(Text(f"     rig {event.rig} ({event.device})", style="dim")))
            case EpisodeRow():
                self._console.print(_scores(event))
                if event.error is not None:
                    self._console.print(Hanging(Text(f"     {event.error}", style="yellow")))


def time_left(seconds: float | None) -> str:
    """Return the time left in words, after a comma; nothing where it is not known or short."""
    return "" if seconds is None or seconds < WORTH_SECONDS else f", about {seconds_text(seconds)} left"


def _step(step: StepRow) -> Text:
    status, note = step.status or "", "" if step.status == CallStatus.OK else step.error_code or ""
    return step_line(step.k, step.tool, step.arguments or {}, status, step.kind or "", note)


def _scores(episode: EpisodeRow) -> Text:
    shown = "  ".join(
        f"{metric.short or metric.heading} {cell(metric.name, episode.scores.get(metric.name), 1)}"
        for metric in map(BY_NAME.__getitem__, BRIEF)
    )
    return Text.assemble("     ", status_text(episode), f"  {shown}", style="dim")
