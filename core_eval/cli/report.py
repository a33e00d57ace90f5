"""`pathrig report`: a log as one HTML page, or as a folder of them."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from core_eval.cli.output import AggregateOption, UsageError, check_output, write_file
from core_eval.cli.progress import tracked
from core_eval.cli.references import (
    AgentOption,
    KindOption,
    TaskOption,
    WorstOption,
    episode_filter,
    without_damaged,
)
from core_eval.log import LogReader
from core_eval.log.episode_filter import EpisodeFilter
from core_eval.score.aggregate import Aggregate, load_aggregate

NEW_OBJECTS = 50_000
"""After so many a report looks for garbage: a page has some hundred objects in circles."""


def report(
    db: Annotated[Path, typer.Argument(help="A log.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="Write the report to this .html file, or to `index.html` in this folder."
        ),
    ],
    in_one: Annotated[
        int,
        typer.Option(
            min=0,
            help="Up to so many episodes are in one file; of more, each has a page in a folder beside it.",
        ),
    ] = 100,
    agent: AgentOption = None,
    task: TaskOption = None,
    kind: KindOption = None,
    worst: WorstOption = None,
    aggregate: AggregateOption = None,
) -> None:
    """Write a log as HTML that opens offline: agents compared, every episode in full, drawings, harm."""
    check_report(out, "-o")
    wanted = episode_filter(agent, task, kind, worst)
    write_report(db, out, load_aggregate(aggregate), in_one, inputs=[aggregate], wanted=wanted)


def first_page(out: Path) -> Path:
    """Return the file that a report begins with: `out` itself, or the index of a folder."""
    if out.suffix.lower() in (".html", ".htm") or (out.exists() and not out.is_dir()):
        return out
    return out / "index.html"


def check_report(out: Path, option: str) -> None:
    """Check that a report can be written there.

    Raises:
        UsageError: it cannot.
    """
    first = first_page(out)
    check_output(first if first == out or out.is_dir() else out, option)


def write_report(
    db: Path,
    out: Path,
    aggregate: Aggregate,
    in_one: int = 100,
    *,
    inputs: Sequence[Path | None] = (),
    option: str = "-o",
    wanted: EpisodeFilter | None = None,
) -> None:
    """Write the report of a log: one file, or a first page and a folder with a page per episode.

    A folder of pages is made where `out` names no `.html` file, and above `in_one` episodes.

    Raises:
        LogError: the log cannot be read.
        UsageError: a file cannot be written.
    """
    # `run` and `gate` seldom write one, and its templates and drawings take long to import.
    from core_eval.report.page.report import html_pages
    from core_eval.report.page.stories import Page

    first = first_page(out)
    if not first.is_file() and first.exists():
        # A device or a pipe takes one page.
        in_one = sys.maxsize
    elif first != out:
        in_one = 0

    def put(page: Page) -> Page:
        path = first.parent / page.path
        if not path.parent.is_dir():
            _make_folder(first.parent, option)
            _make_folder(path.parent, option)
        write_file(path, option, page.text, inputs=[db, *inputs], durable=False)
        return Page(page.path, "")

    def write(reader: LogReader) -> int:
        made = html_pages(reader, aggregate, first.name, in_one, wanted, tracked, put)
        return sum(1 for _ in made)

    with _rarely_collected():
        count = without_damaged(db, write)
    more = "" if count == 1 else f", with {count - 1} pages beside it"
    print(f"pathrig: {first} holds the report of {db}{more}", file=sys.stderr)


@contextmanager
def _rarely_collected() -> Iterator[None]:
    """Look for garbage after many new objects, here and in forked processes: nearly all stay to the end."""
    usual = gc.get_threshold()
    gc.set_threshold(NEW_OBJECTS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _make_folder(folder: Path, option: str) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"{option} {folder}: {error.strerror or error}") from None
