"""`pathrig backup`: a complete copy of a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def backup(
    db: Annotated[Path, typer.Argument(help="A log; a run may be writing to it.")],
    file: Annotated[Path, typer.Argument(help="The file to write; an existing log is replaced.")],
) -> None:
    """Copy a log, also of an active run, into one file. A plain copy of the .db file misses new rows."""
    from core_eval.log.backup import backup as copy_log

    copy_log(db, file)
    print(f"{file} holds all of {db}: {file.stat().st_size:,} bytes.")
