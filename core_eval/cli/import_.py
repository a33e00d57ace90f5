"""`pathrig import`: writes the traces of other programs to a log."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from core_eval.cli.imported_file import AUTO, ImportedFile
from core_eval.cli.output import Json, check_output, console, print_faults, print_json
from core_eval.cli.run_options import DEFAULT_DB

DONE, SKIPPED = 0, 1
"""Exit statuses."""


def import_(
    files: Annotated[
        list[Path], typer.Argument(help="Files of traces, plain or in gzip.", metavar="FILE...")
    ],
    form: Annotated[
        str,
        typer.Option(
            "--format", help="auto, openai, tau2, inspect, otel, core, pathrig, or a package's own."
        ),
    ] = AUTO,
    out: Annotated[Path, typer.Option("-o", "--db", help="The log that gets the episodes.")] = DEFAULT_DB,
    tasks: Annotated[
        str | None, typer.Option(help="Score by these tasks: a file, YAML or CORE's JSON, or a suite.")
    ] = None,
    join: Annotated[
        str | None,
        typer.Option(
            help="How traces and tasks are joined, checked or not: task_id (the file's own key), or for tau2 "
            "reward_info (the actions that its judge looked for)."
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Write the traces of other programs to a log. Exit with 1 if some records could not be read."""
    from configs.suites import scored_suite
    from core_eval.cli.import_log import score_imported, write_imported
    from core_eval.log import RunLog

    check_output(out, "-o")
    known = None if tasks is None else scored_suite(tasks)
    print_faults({} if known is None else known.malformed)
    opened = [ImportedFile.of(path, form, join, known) for path in files]
    with RunLog(out) as log:
        run, ids = write_imported(log, opened, known)
        score_imported(log, ids)
        log.end_run(run)
    facts = {
        "db": str(out),
        "episodes": sum(file.traces for file in opened),
        "broken": sum(file.broken for file in opened),
        "files": [file.facts() for file in opened],
    }
    if json:
        print_json(facts)
    else:
        _print(opened, out, sum(file.traces for file in opened))
    return SKIPPED if facts["broken"] else DONE


def _print(opened: list[ImportedFile], out: Path, episodes: int) -> None:
    from core_eval.report.tables.fitted_table import Table

    shown = console()
    numbers = ("traces", "skipped", "calls", "task", "gold", "reward")
    table = Table("file", "format", *numbers, numbers=numbers)
    statuses = Table("status", "told by", "calls", numbers=("calls",))
    told: Counter[tuple[str, str]] = Counter()
    for file in opened:
        counts = (file.traces, file.broken, file.calls, file.scored, file.gold, len(file.rewards))
        table.add_row(file.path.name, file.importer.name, *map(str, counts))
        told.update(file.statuses)
    for (status, source), count in told.most_common():
        statuses.add_row(status, source, str(count))
    shown.print(table)
    if told:
        shown.print(statuses)
    for file in opened:
        if file.renamed:
            print(f"{file.path.name}: {file.renamed} traces name their task with or without an s")
    unscored = episodes - sum(file.scored for file in opened)
    if unscored:
        print(f"{unscored} of {episodes} episodes have no task to be scored by: calls and statuses only")
    print(f"{episodes} episodes in {out}; see `pathrig show {out}`")
