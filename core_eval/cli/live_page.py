"""What is shown while a run goes on: its lines on the terminal, and its live page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from core_eval.cli.output import UsageError
from core_eval.cli.page_address import page_address

if TYPE_CHECKING:
    from core_eval.live.live_run import LiveRun
    from core_eval.run.config import RunConfig
    from core_eval.run.parts import Parts
from rich.console import Console
from rich.text import Text

from core_eval.log import LEFT_RECORD, EpisodeRow, RigStatusRow, RunLog, StepRow
from core_eval.log.events import Emit, EpisodePlanned, Event
from core_eval.log.rows import RULE
from core_eval.path.calls import CallStatus
from core_eval.report.tables.fitted_table import Hanging
from core_eval.report.tables.texts import cell, status_text, step_line
from core_eval.rules.episode import rule_line
from core_eval.run.plan import Run
from core_eval.run.side_by_side import SideBySide
from core_eval.score.metrics import BRIEF, BY_NAME
from core_eval.text.visible_text import seconds_text
from firmware_bridge.guard import RuleAction


@contextmanager
def live_page(live: str | None, answer_seconds: float) -> Iterator[LiveRun | None]:
    """Serve the live page, if `live` gives an address, and print its URL on standard error."""
    if live is None:
        yield None
        return
    try:
        from core_eval.live.live_run import live_run
    except ImportError as error:
        raise UsageError(f"--live needs {error.name}: pip install 'pathrig[live]'") from None
    address = page_address(live, "--live")
    with ExitStack() as stack:
        try:
            page = stack.enter_context(live_run(address, answer_seconds=answer_seconds))
        except OSError as error:
            raise UsageError(f"--live {live}: {error.strerror or error}") from None
        lines = [f"the live page is {page.url}"]
        if not address.loopback:
            lines.append("it is not encrypted: anyone who reads this network's traffic can use its buttons")
        for line in lines:
            print(f"pathrig: {line}", file=sys.stderr, flush=True)
        yield page
    if page.trouble is not None:
        print(f"pathrig: the live page is incomplete: {page.trouble}", file=sys.stderr)


def shown_run(
    config: RunConfig, parts: Parts, log: RunLog, lines: Emit, page: LiveRun | None, jobs: int = 1
) -> Run | SideBySide:
    """Return a run that is shown on the terminal and, where there is one, on the page.

    Raises:
        UsageError: episodes that go side by side are asked for, with a page of one episode.
    """
    if jobs > 1:
        if page is not None:
            raise UsageError(
                "--jobs: --live is the page of one episode at a time; `pathrig watch` shows logs"
            )
        return SideBySide(config, parts, log, lines, jobs)
    if page is None:
        return Run(config, parts, log, lines)
    page.follow(log.path)
    return Run(config, parts, log, lines, page.approver, page.stop_button)


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
