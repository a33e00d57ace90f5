"""The options that choose episodes, which `show`, `harm` and `report` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from core_eval.cli.progress import tracked

if TYPE_CHECKING:
    from core_eval.log import EpisodeRow, LogReader
    from core_eval.log.episode_filter import EpisodeFilter

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
    from core_eval.log.episode_filter import EpisodeFilter

    return EpisodeFilter(agent or (), task or (), kind or (), worst)


def read_episodes(reader: LogReader, run: int | None = None) -> list[EpisodeRow]:
    """Return the episodes of a run, or of all; a long log shows its progress."""
    ids = reader.episode_ids(run)
    return [reader.episode(one) for one in tracked("reading", ids, len(ids))]
