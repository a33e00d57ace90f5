"""`pathrig export`: a log in the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from core_eval.cli.output import UsageError
from core_eval.cli.progress import tracked

FormatName = Literal["csv", "jsonl", "parquet", "otel", "inspect", "mcap", "rrd", "datasette"]


def export(
    db: Annotated[Path, typer.Argument(help="A log; a run may be writing to it.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="The file to write (jsonl, otel, datasette), or the folder of files (csv, parquet, inspect, "
            "mcap, rrd); existing files of the same names are replaced.",
        ),
    ],
    form: Annotated[FormatName, typer.Option("--format", help="The format.")],
    run: Annotated[int | None, typer.Option(help="Only this run.")] = None,
) -> None:
    """Write a log for other tools: tables, JSON lines, traces, logs, recordings.

    `datasette` writes metadata with canned queries; Datasette serves the log itself.
    """
    from core_eval.export import FORMATS, ExportError
    from core_eval.export import export as export_log
    from core_eval.log import LogReader

    try:
        with LogReader(db) as log:
            count = export_log(log, run, next(one for one in FORMATS if one.name == form), out, tracked)
    except ExportError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"-o {out}: {error.strerror or error}") from None
    print(f"{out} holds {count} episode{'' if count == 1 else 's'} of {db}.")
