"""`pathrig verify`: whether a log is what its runs wrote."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from core_eval.cli.output import Json, console, print_json
from core_eval.log.signing import own_key
from core_eval.log.verified import verify as verified
from core_eval.text.visible_text import visible


def verify(
    db: Annotated[Path, typer.Argument(metavar="LOG", help="A log; a run may be writing to it.")],
    key: Annotated[
        str | None,
        typer.Option(help="Every run must be signed by the key of this name.", metavar="NAME"),
    ] = None,
    json: Json = False,
) -> int:
    """Check that every record of a log is what its runs wrote, and who signed them.

    Exit with 1 where a row does not fit, or a run is not signed. Scorings may be added at any time.
    """
    evidence = verified(db)
    holds = evidence.holds(key)
    if json:
        misfit = None if evidence.misfit is None else asdict(evidence.misfit)
        print_json({"holds": holds, "runs": [asdict(run) for run in evidence.runs], "misfit": misfit})
        return 0 if holds else 1
    own = own_key()
    out = console()
    for run in evidence.runs:
        mine = ", which is this user's" if run.key is not None and run.key == own else ""
        numbers = ((run.episodes, "episode"), (run.records, "record"))
        counts = ", ".join(f"{number} {what}{'s' * (number != 1)}" for number, what in numbers)
        out.print(f"run {run.run}: {counts}: {run.standing}{mine}")
    if evidence.misfit is not None:
        out.print(f"DOES NOT FIT: {visible(str(evidence.misfit))}", markup=False)
    return 0 if holds else 1
