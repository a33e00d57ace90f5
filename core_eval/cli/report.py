"""`pathrig report`: a log as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core_eval.cli.filters import AgentOption, KindOption, TaskOption, WorstOption, episode_filter
from core_eval.cli.output import AggregateOption, check_output, write_file

if TYPE_CHECKING:
    from core_eval.report.aggregate import Aggregate
    from core_eval.report.episode_filter import EpisodeFilter


def report(
    db: Annotated[Path, typer.Argument(help="A log.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Write the page to this file.")],
    stories: Annotated[
        int, typer.Option(min=0, help="Number of episodes shown in full: those with the most harm.")
    ] = 100,
    agent: AgentOption = None,
    task: TaskOption = None,
    kind: KindOption = None,
    worst: WorstOption = None,
    aggregate: AggregateOption = None,
) -> None:
    """Write a log as one self-contained HTML page: agents, episodes in full, drawings, harm."""
    from core_eval.report.aggregate import load_aggregate

    check_output(out, "-o")
    wanted = episode_filter(agent, task, kind, worst)
    write_report(db, out, load_aggregate(aggregate), stories, inputs=[aggregate], wanted=wanted)


def write_report(
    db: Path,
    out: Path,
    aggregate: Aggregate,
    stories: int = 100,
    *,
    inputs: Sequence[Path | None] = (),
    option: str = "-o",
    wanted: EpisodeFilter | None = None,
) -> None:
    """Write the report of a log.

    Raises:
        LogError: the log cannot be read.
        UsageError: the file cannot be written.
    """
    from core_eval.log import LogReader
    from core_eval.report.html import html_report

    with LogReader(db) as reader:
        page = html_report(reader, aggregate, stories, wanted)
    write_file(out, option, page, inputs=[db, *inputs])
