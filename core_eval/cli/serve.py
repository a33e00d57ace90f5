"""`pathrig serve`: runs a schedule on many rigs for months, and sends or collects what was run."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from core_eval.cli.output import UsageError
from core_eval.cli.programs import AllowPrograms
from core_eval.serve.notify import Notifier
from core_eval.serve.serve_file import Schedule
from core_eval.serve.service import Commands, Service
from core_eval.serve.transfer import Collector
from firmware_bridge.link import LinkError

PYTHON = (sys.executable, "-m")


def serve(
    file: Annotated[Path, typer.Argument(metavar="FILE.yaml", help="Rigs, schedule, and what is kept.")],
    check: Annotated[bool, typer.Option("--check", help="Only read the file, and what it names.")] = False,
    allow_programs: AllowPrograms = False,
) -> int:
    """Run a schedule on rigs until a signal comes. Each rig has one worker; logs are by rig and day.

    The status is in `status.json` of the file's folder; `pathrig watch FILE.yaml` shows all. Exits with 3 if
    a rig may not be stopped, and with 75 if the broker of `collect` cannot be reached yet: try again later.
    """
    schedule = Schedule(file)
    if check:
        print(f"{file}: {len(schedule.rigs)} rigs, {len(schedule.keys.schedule)} entries")
        return 0
    try:
        schedule.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{file}: folder: {schedule.folder}: {error.strerror}") from None

    def work(rig: str, ask: bool, run: Sequence[str]) -> list[str]:
        told = ["ask" if ask else "-", "allow" if allow_programs else "-"]
        return [*PYTHON, "core_eval.cli.serve_work", rig, *told, *run]

    commands = Commands(
        work,
        lambda source, copy: [*PYTHON, "core_eval.cli.main", "log", "backup", str(source), str(copy)],
        lambda path: [*PYTHON, "core_eval.cli.serve_send", str(path)],
    )
    with ExitStack() as stack:
        lock = stack.enter_context((schedule.folder / ".lock").open("a"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{file}: another `pathrig serve` works in {schedule.folder}; end it") from None
        if schedule.keys.collect is not None:
            try:
                collector = Collector(schedule.keys.collect.url, schedule.folder, partial(print, flush=True))
            except LinkError as error:
                # Not 3, after which a service manager waits for a person.
                print(f"pathrig: {file}: collect: {error}", file=sys.stderr)
                return os.EX_TEMPFAIL
            stack.callback(collector.close)
        return Service(schedule, commands, Notifier()).run()
