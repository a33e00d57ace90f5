"""`pathrig bench --sweep`: what a change of the exam does to the same models."""

from __future__ import annotations

import sys
from collections.abc import Container
from pathlib import Path

from rich.text import Text

from configs.exam import ExamTaken
from core_eval.bench.bench import BenchPlan
from core_eval.bench.bundle import SweptContent, content_of, write_bundle
from core_eval.bench.sweep import Sweep
from core_eval.cli.output import UsageError, console, print_json, write_file
from core_eval.log import CHARGED, EpisodePlanned, Event, LogReader
from core_eval.report.page.bench import sweep_page
from core_eval.report.tables.columns import terminal_table
from core_eval.report.tables.sweep import MEANING, effect_columns, setting_columns
from core_eval.run.config import RunConfig
from core_eval.score.sweep import effects, sentence
from core_eval.text.visible_text import seconds_text, visible


def run_sweep(
    swept: Sweep,
    plan: BenchPlan,
    db: Path,
    out: Path | None,
    bundle: Path | None,
    title: str,
    *,
    json: bool,
) -> None:
    """Run a sweep, and show its effects."""
    if bundle is not None:
        _check_only(db, swept.exams(plan.suites))
    counts = swept.run(plan, db, tell, Left())
    if bundle is not None:
        told = SweptContent(
            models=tuple(swept.names), factors=swept.factors, options=swept.options, episodes=counts
        )
        write_bundle(bundle, db, content_of(plan, swept.exam, sweep=told))
        tell(f"{bundle} holds the bundle; check it with `pathrig board build`")
    rows = swept.rows(plan, db, counts)
    found = effects(swept.factors, rows)
    words, cards = sentence(found), swept.cards(rows)
    if out is not None:
        exam = f"{plan.exam.name} {plan.exam.digest}, and what was changed of it"
        write_file(out, "-o", sweep_page(title, words, exam, found, cards))
        tell(f"{out} holds the page")
    if json:
        kept = ("agent", "episodes", "right", CHARGED, "seconds_each_good")
        shown = [{"setting": card.left} | {key: card.as_json()[key] for key in kept} for card in cards]
        print_json({"sentence": words, "effects": [one.as_json() for one in found], "settings": shown})
        return
    screen = console()
    screen.print(terminal_table(setting_columns(), cards))
    screen.print(terminal_table(effect_columns(), found))
    screen.print(Text(visible(words), style="bold"))
    screen.print(Text(MEANING, style="dim"))


def tell(line: str) -> None:
    """Print a line on standard error."""
    print(f"pathrig: {visible(line)}", file=sys.stderr, flush=True)


class Left:
    """Tells of a run, once in a while, how many of its episodes are left, and for how long."""

    EVERY = 10

    def __call__(self, event: Event) -> None:
        """Take an event of the run."""
        if isinstance(event, EpisodePlanned) and event.seconds_left and event.place % self.EVERY == 0:
            tell(f"  {event.place} of {event.total}, about {seconds_text(event.seconds_left)} left")


def _check_only(db: Path, exams: Container[ExamTaken | None]) -> None:
    """Raise UsageError where a log that becomes a bundle has runs of other exams."""
    if any(other not in exams for _, other in exams_of(db)):
        raise UsageError(f"--db {db} has runs of other exams, and a bundle holds one sweep: name another log")


def exams_of(db: Path) -> list[tuple[int, ExamTaken | None]]:
    """Return the number and the exam of each run of a log; nothing where there is none."""
    if not db.exists():
        return []
    with LogReader(db) as reader:
        return [(run.id, RunConfig.from_log(run.config).exam) for run in reader.runs()]
