"""The options that choose episodes, which `show`, `harm` and `report` share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from core_eval.log import EpisodeRow, LogError, LogReader, RunRow
from core_eval.log.episode_filter import EpisodeFilter
from core_eval.score.episodes import of_one_reading
from core_eval.score.suites import mixed_suites

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
