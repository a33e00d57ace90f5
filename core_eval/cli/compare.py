"""`pathrig compare`: the agents of a log, or two logs, pair by pair."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer
from rich.text import Text

from core_eval.cli.output import Json, UsageError, check_output, console, print_json, write_file
from core_eval.cli.references import episodes_of, parted, runs_of
from core_eval.log import EpisodeRow
from core_eval.report.page.contrast import contrast_page
from core_eval.report.tables.contrast import (
    MEANING,
    changes_table,
    contrast_title,
    grid_table,
    lone_lines,
    metrics_table,
)
from core_eval.score.contrast import Contrast, Grid, between, contrast_json, grid_of, sentence, within
from core_eval.score.episodes import different_exams, different_suites, of_one_reading
from core_eval.text.visible_text import visible

Log = Annotated[str, typer.Argument(metavar="A", help="A log, or a run of it: DB[#RUN].")]
OtherLog = Annotated[str | None, typer.Argument(metavar="[B]", help="The log or run to compare it with.")]


def compare(
    log: Log,
    other: OtherLog = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write a page to this file.")] = None,
    across_exams: Annotated[
        bool, typer.Option("--across-exams", help="Compare results of different exams, marked as such.")
    ] = False,
    json: Json = False,
) -> None:
    """Compare two logs, or the models and scaffolds of one: what got better, what worse, and which episodes.

    Episodes are paired by task, seed and start. With two logs each agent is compared with itself; where each
    has one agent, these are compared.
    """
    if out is not None:
        check_output(out, "-o")
    before = episodes_of(log)
    after = None if other is None else episodes_of(other)
    if after is not None and of_one_reading([*before, *after])[1] is not None:
        raise UsageError(
            f"{log} and {other} were scored by different readings of what is harmful: "
            "score the older one anew with `pathrig score --db FILE --reading 2 --write`"
        )
    grid = grid_of([*before, *(after or ())]) if after is None else {}
    contrasts = within(grid) if after is None else between(before, after)
    if not any(one.pairs for one in contrasts):
        raise UsageError(_no_pairs(log, other, before, after))
    alone = [] if after is None else _only_agents(before, after)
    runs = runs_of(log) if other is None else runs_of(log, "A") | runs_of(other, "B")
    exams = different_exams(runs)
    if exams is not None and not across_exams:
        raise UsageError(f"{exams}; compare them all the same with --across-exams")
    mixed = "; ".join(filter(None, (exams, different_suites(runs)))) or None
    if mixed is not None:
        print(f"pathrig: warning: {mixed}", file=sys.stderr)
    told = sentence(contrasts)
    notes = alone if mixed is None else [mixed, *alone]
    title = log if other is None else f"A {log}, B {other}"
    if out is not None:
        files = [parted(name, "run")[0] for name in (log, other) if name is not None]
        reports = _reports(out, files)
        write_file(out, "-o", contrast_page(title, told, grid, contrasts, notes, reports), inputs=files)
        print(f"pathrig: {out} holds the comparison of {title}", file=sys.stderr)
    if json:
        sides = {"a": log, "b": other}
        print_json(
            {
                **sides,
                "outcome": told,
                "only_agents": alone,
                "different_suites": mixed,
                "comparisons": [contrast_json(one) for one in contrasts],
            }
        )
    elif out is None:
        _print(title, told, grid, contrasts, alone)


def _reports(page: Path, logs: list[Path]) -> list[str]:
    """Return the address of each log's report, `LOG.html` or `LOG/index.html`; empty where there is none."""
    found = []
    for log in logs:
        names = (log.with_suffix(".html"), log.with_suffix("") / "index.html")
        own = [os.path.relpath(one, page.absolute().parent) for one in names if one.is_file()]
        found.append(quote(own[0]) if own else "")
    return [found[0], found[-1]]


def _print(title: str, told: str, grid: Grid, contrasts: list[Contrast], alone: list[str]) -> None:
    screen = console()
    screen.print(Text(visible(title)))
    if grid:
        screen.print(grid_table(grid))
    for one in contrasts:
        screen.print()
        screen.print(contrast_title(one))
        screen.print(metrics_table(one))
        if (changes := changes_table(one)) is not None:
            screen.print(changes)
        for line in lone_lines(one):
            screen.print(line)
    for name in alone:
        screen.print(Text(visible(name), style="yellow"))
    screen.print()
    screen.print(Text(MEANING, style="dim"))
    screen.print(Text(visible(told), style="bold"))


def _only_agents(before: list[EpisodeRow], after: list[EpisodeRow]) -> list[str]:
    """Return a line for each agent of one log only, unless each log has one agent."""
    agents = [list(dict.fromkeys(row.agent for row in rows)) for rows in (before, after)]
    if len(agents[0]) == len(agents[1]) == 1:
        return []
    return [
        f"only in {side}: all {sum(row.agent == agent for row in rows)} episodes of {agent}"
        for side, rows, own, others in (
            ("A", before, agents[0], agents[1]),
            ("B", after, agents[1], agents[0]),
        )
        for agent in own
        if agent not in others
    ]


def _no_pairs(log: str, other: str | None, before: list[EpisodeRow], after: list[EpisodeRow] | None) -> str:
    if after is None:
        return f"{log}: no two agents have a task and seed in common; name a second log to compare it with"
    names = (", ".join(dict.fromkeys(row.agent for row in rows)) for rows in (before, after))
    a, b = names
    return (
        f"{log} and {other} have no finished episode of the same agent, task and seed in common; "
        f"the agents are {a}, and {b}"
    )
