"""`pathrig report`: a log as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core_eval.cli.output import AggregateOption, check_output, write_file


def report(
    db: Annotated[Path, typer.Argument(help="A log.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Write the page to this file.")],
    stories: Annotated[
        int, typer.Option(min=0, help="Number of episodes shown in full: those with the most harm.")
    ] = 100,
    aggregate: AggregateOption = None,
) -> None:
    """Write a log as one self-contained HTML page: agents, episodes in full, drawings, harm."""
    from core_eval.log import LogReader
    from core_eval.report.aggregate import load_aggregate
    from core_eval.report.html import html_report

    check_output(out, "-o")
    compared = load_aggregate(aggregate)
    with LogReader(db) as reader:
        page = html_report(reader, compared, stories)
    write_file(out, "-o", page, inputs=[db, aggregate])
