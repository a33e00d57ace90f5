"""`pathrig run --resume`: the last interrupted run of a log."""

from __future__ import annotations

import sys
from pathlib import Path

from agents.registry import named_uses
from core_eval.cli.output import UsageError
from core_eval.cli.programs import allowed
from core_eval.cli.references import config_of
from core_eval.log import LogReader
from core_eval.run.config import RunConfig
from firmware_bridge.links import link_type


def unfinished(db: Path, rigs: list[str]) -> tuple[RunConfig, int]:
    """Return the plan of the last run that has not ended, and its id; `rigs` have the passwords of URLs.

    Raises:
        LogError: the log cannot be read.
        UsageError: there is none, it still runs, or its plan is invalid or names what is not allowed.
    """
    with LogReader(db) as reader:
        runs = reader.unfinished_runs()
        if not runs:
            raise UsageError(
                f"--resume: there is nothing to resume in {db}: every run with episodes has ended"
            )
        episodes = (episode for run in runs for episode in reader.episodes(run.id))
        active = {episode.run_id for episode in episodes if episode.status == "running"}
    run = next((run for run in runs if run.id not in active), None)
    if run is None:
        raise UsageError(f"--resume: run {runs[0].id} in {db} is still active in another process")
    try:
        config = config_of(run, db).with_rigs(rigs)
    except ValueError as error:
        raise UsageError(f"--resume: run {run.id} in {db}: {error}") from None
    print(f"pathrig: resuming run {run.id} in {db}", file=sys.stderr)
    _require_allowed(config, db)
    return config, run.id


def _require_allowed(config: RunConfig, log: Path) -> None:
    """Return if the programs and keys that a logged plan names may be used.

    Raises:
        UsageError: it names some, and --allow-programs is not given.
    """
    if allowed():
        return
    uses = [use for cell in config.cells for use in named_uses(cell.agent)]
    for cell in config.cells:
        kind = link_type(cell.rig)
        if kind is not None and (program := kind.program(cell.rig)) is not None:
            uses.append(f"runs the program {program!r}")
    if uses:
        named = "; ".join(dict.fromkeys(uses))
        raise UsageError(
            f"--resume: the plan in {log} {named}; look at it, then give --allow-programs (a log may come "
            "from anywhere)"
        )
