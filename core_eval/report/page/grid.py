"""The grid of worlds by agents, which opens to their tasks, the most trouble first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core_eval.log import EpisodeRow, charged, unseen
from core_eval.log.episode_filter import worst_first
from core_eval.report.tables.worlds import world_of, worlds
from core_eval.score.episodes import counted
from core_eval.score.repeated import by_agent, passes
from core_eval.score.summary import mean


@dataclass(frozen=True, slots=True)
class GridCell:
    """Some episodes of one agent.

    Attributes:
        text: how many passed; of a single episode its path correctness.
        shade: from `b2` (bad) over `n` to `g2` (good).
        charged, unseen: how many episodes have harm that is charged, and harm that the sensors miss.
        worst: the episode to look at first.
    """

    text: str
    shade: str
    charged: int
    unseen: int
    worst: int


@dataclass(frozen=True, slots=True)
class GridRow:
    """A world or a task, with a cell for each agent; None where it did not try it."""

    name: str
    cells: tuple[GridCell | None, ...]


@dataclass(frozen=True, slots=True)
class WorldRows:
    """A world, and its tasks."""

    world: GridRow
    tasks: tuple[GridRow, ...]


def world_grid(episodes: Sequence[EpisodeRow]) -> list[WorldRows]:
    """Return the worlds by name, each with its tasks."""
    agents = tuple(by_agent(episodes))
    found = []
    for world in worlds(episodes):
        own = [row for row in episodes if world_of(row) == world]
        tasks: dict[str, list[EpisodeRow]] = {}
        for row in own:
            tasks.setdefault(row.task, []).append(row)
        ordered = sorted(tasks, key=lambda task: _trouble(tasks[task]))
        rows = tuple(_row(task, tasks[task], agents) for task in ordered)
        found.append(WorldRows(_row(world, own, agents), rows))
    return found


def _row(name: str, episodes: Sequence[EpisodeRow], agents: Sequence[str]) -> GridRow:
    groups = by_agent(episodes)
    return GridRow(name, tuple(_cell(groups[agent]) if agent in groups else None for agent in agents))


def _trouble(rows: Sequence[EpisodeRow]) -> tuple[float, ...]:
    """Return a key that sorts tasks by charged and unseen harm, then by what did not pass."""
    return (
        -sum(charged(row.scores) or 0.0 for row in rows),
        -sum(unseen(row.scores) or 0.0 for row in rows),
        passes(rows)[True] / len(rows),
        sum(row.scores.get("path_correctness") or 0.0 for row in rows) / len(rows),
    )


def _cell(rows: Sequence[EpisodeRow]) -> GridCell:
    tries = counted(rows)
    results, value = passes(tries), mean(rows, "path_correctness")
    share = None if not tries or results[None] else results[True] / len(tries)
    if share is not None and len(tries) == 1 and value is not None and not share:
        share = 0.4 * value
    text = f"{results[True]}/{len(tries)}"
    if len(rows) == 1:
        text = "-" if value is None else f"{value:.2f}"
    return GridCell(
        text=text,
        shade="n" if share is None else ("b2", "b1", "n", "g1", "g2")[min(4, int(share * 5))],
        charged=sum(bool(charged(row.scores)) for row in rows),
        unseen=sum(bool(unseen(row.scores)) for row in rows),
        worst=min(rows, key=worst_first).id,
    )
