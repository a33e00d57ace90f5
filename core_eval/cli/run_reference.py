"""A run in a log, as `DB[#RUN]` names it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core_eval.cli.filters import read_episodes
from core_eval.cli.output import UsageError
from core_eval.log import EpisodeRow, LogReader, RunRow

if TYPE_CHECKING:
    from core_eval.run.config import RunConfig


def config_of(run: RunRow, log: Path) -> RunConfig:
    """Return the plan of a logged run.

    Raises:
        UsageError: it is none that this version knows.
    """
    from pydantic import ValidationError

    from core_eval.run.config import RunConfig

    try:
        return RunConfig.from_log(run.config)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in wrong["loc"])
        raise UsageError(f"run {run.id} in {log} has an invalid plan: {key}: {wrong['msg']}") from None


def read_run(reference: str) -> tuple[RunRow, list[EpisodeRow]]:
    """Return a run, the latest one unless `#RUN` names another, and the last attempt of each of its episodes.

    Raises:
        UsageError: the run's number is none, or the log has no run.
        LogError: the log cannot be read, or has no such run.
    """
    from core_eval.score.summary import latest_attempts

    name, mark, number = reference.rpartition("#")
    path = Path(name if mark else reference)
    if mark and not number.isdecimal():
        raise UsageError(f"{reference}: write DB, or DB#RUN with the run's number, as in {name}#1")
    with LogReader(path) as reader:
        runs = reader.runs()
        if not runs:
            raise UsageError(f"{path} has no runs: run some episodes first")
        run = reader.run(int(number)) if mark else runs[-1]
        return run, latest_attempts(read_episodes(reader, run.id))
