"""`pathrig backup`: a copy of a log that misses nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def backup(
    db: Annotated[Path, typer.Argument(help="A log; a run may be writing to it.")],
    file: Annotated[Path, typer.Argument(help="Where the copy goes; a log that is there is replaced.")],
) -> None:
    """Copy a log, a running one too, into one file: a copy of the .db file alone misses the newest rows."""
    from core_eval.log.backup import backup as copy_log

    copy_log(db, file)
    print(f"{file} holds all of {db}: {file.stat().st_size:,} bytes.")
