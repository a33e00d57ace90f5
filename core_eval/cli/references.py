"""Logs, runs and episodes, as arguments name them (`DB`, `DB#NUMBER`), and as options choose them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from pydantic import ValidationError

from core_eval.cli.output import UsageError
from core_eval.log import EpisodeRow, LogError, LogReader, RunRow
from core_eval.log.episode_filter import EpisodeFilter
from core_eval.score.episodes import mixed_suites, of_one_reading
from core_eval.score.summary import latest_attempts

if TYPE_CHECKING:
    from core_eval.run.config import RunConfig


def parted(text: str, what: str) -> tuple[Path, int | None]:
    """Return a log's path, and the number after `#`; None where there is none.

    Raises:
        UsageError: what stands after `#` is no number; `what` says what it should number.
    """
    name, mark, number = text.rpartition("#")
    if not mark or Path(text).exists():
        return Path(text), None
    if not number.isdecimal():
        raise UsageError(f"{text}: write DB, or DB#{what.upper()} with the {what}'s number, as in {name}#1")
    return Path(name), int(number)


def config_of(run: RunRow, log: Path) -> RunConfig:
    """Return the plan of a logged run.

    Raises:
        UsageError: it is none that this version knows.
    """
    # It knows tasks and suites, which most that read a log need not.
    from core_eval.run.config import RunConfig

    try:
        return RunConfig.from_log(run.config)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in wrong["loc"])
        raise UsageError(f"run {run.id} in {log} has an invalid plan: {key}: {wrong['msg']}") from None


def read_run(text: str) -> tuple[RunRow, list[EpisodeRow]]:
    """Return a run, the latest one unless `#RUN` names another, and the last attempt of each of its episodes.

    Raises:
        UsageError: the run's number is none, or the log has no run.
        LogError: the log cannot be read, or has no such run.
    """
    path, number = parted(text, "run")

    def read(reader: LogReader) -> tuple[RunRow, list[EpisodeRow]]:
        runs = reader.runs()
        if not runs:
            raise UsageError(f"{path} has no runs: run some episodes first")
        run = runs[-1] if number is None else _run(reader, number)
        return run, comparable(latest_attempts(reader.episodes(run.id)))

    return without_damaged(path, read)


def _run(reader: LogReader, number: int) -> RunRow:
    runs = {run.id: run for run in reader.runs()}
    if number not in runs:
        known = ", ".join(map(str, runs)) or "none"
        raise UsageError(f"{reader.path}: no run {number}; its runs are {known}")
    return runs[number]


def runs_of(text: str, side: str = "") -> dict[str, RunRow]:
    """Return the runs that `episodes_of` reads, by what they are called on that side of a comparison."""
    path, number = parted(text, "run")
    with LogReader(path) as reader:
        runs = reader.runs() if number is None else [_run(reader, number)]
    return {f"{side} run {run.id}".strip(): run for run in runs}


def episodes_of(text: str) -> list[EpisodeRow]:
    """Return the episodes of a log, or of the run that `#RUN` names.

    Raises:
        LogError: the log cannot be read, or has no such run.
        UsageError: it has no episodes.
    """
    path, number = parted(text, "run")
    episodes = without_damaged(
        path, lambda reader: reader.episodes(None if number is None else _run(reader, number).id)
    )
    if not episodes:
        raise UsageError(f"{text}: no episodes to compare")
    return comparable(episodes)


T = TypeVar("T")
AgentOption = Annotated[
    list[str] | None,
    typer.Option("--agent", help="Only episodes of this agent, or of a pattern such as 'llama*'."),
]
TaskOption = Annotated[
    list[str] | None, typer.Option("--task", help="Only episodes of this task, or of a pattern.")
]
KindOption = Annotated[
    list[str] | None,
    typer.Option("--kind", help="Only episodes with a harm event of this kind, such as ponding."),
]
WorstOption = Annotated[
    int | None,
    typer.Option("--worst", min=1, metavar="N", help="Only the N episodes with the most harm."),
]


def episode_filter(
    agent: list[str] | None, task: list[str] | None, kind: list[str] | None, worst: int | None
) -> EpisodeFilter:
    """Return the filter that the options ask for."""
    return EpisodeFilter(agent or (), task or (), kind or (), worst)


def without_damaged(db: Path, work: Callable[[LogReader], T]) -> T:
    """Return what the work makes of a log without its damaged episodes, each of which is named in a line.

    Raises:
        LogError: the log cannot be read, or every episode is damaged.
    """
    left_out: set[int] = set()
    while True:
        with LogReader(db, left_out) as reader:
            try:
                return work(reader)
            except LogError as error:
                damaged = error.episode
                if damaged is None or damaged in left_out or reader.episode_ids() == [damaged]:
                    raise
                left_out.add(damaged)
                print(f"episode {damaged}: {error}; left out", file=sys.stderr)


def comparable(episodes: Sequence[EpisodeRow]) -> list[EpisodeRow]:
    """Return the episodes of one reading; print on standard error how many others there are."""
    kept, note = of_one_reading(episodes)
    if note is not None:
        print(f"pathrig: {note}", file=sys.stderr)
    return kept


def warn_of_suites(runs: Iterable[RunRow]) -> None:
    """Print on standard error that the runs of a log measured different suites, where they did."""
    if (mixed := mixed_suites(runs)) is not None:
        print(f"pathrig: warning: {mixed}", file=sys.stderr)
