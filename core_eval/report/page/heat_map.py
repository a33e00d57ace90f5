"""The map of tasks by agents: each cell a mean, its harm, and the episode to look at first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core_eval.log import EpisodeRow
from core_eval.log.charged import charged
from core_eval.log.episode_filter import worst_first
from core_eval.report.tables.agents import passed_text
from core_eval.score.repeated import by_agent, by_task_and_agent
from core_eval.score.summary import mean

SHADES = 5


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A task with an agent.

    Attributes:
        episode: the worst one, to which the cell leads.
        value: mean path correctness; None where it is undefined.
        shade: from 0 (PC 0) to SHADES (PC 1).
        harmful, charged: how many episodes had harmful calls, and harm that is charged to the agent.
        passed: how many passed, of how many, in words.
        episodes: how many.
    """

    episode: int
    value: float | None
    shade: int
    harmful: int
    charged: int
    passed: str
    episodes: int


@dataclass(frozen=True, slots=True)
class HeatMap:
    """The rows of the map, a cell for each agent; None where it did not try the task."""

    agents: tuple[str, ...]
    rows: tuple[tuple[str, tuple[HeatCell | None, ...]], ...]


def heat_map(episodes: Sequence[EpisodeRow]) -> HeatMap:
    """Return the map of some episodes."""
    agents = tuple(by_agent(episodes))
    groups = by_task_and_agent(episodes)
    tasks = dict.fromkeys(task for task, _ in groups)
    cells = {key: _cell(rows) for key, rows in groups.items()}
    return HeatMap(
        agents, tuple((task, tuple(cells.get((task, agent)) for agent in agents)) for task in tasks)
    )


def _cell(rows: Sequence[EpisodeRow]) -> HeatCell:
    value, _ = mean(rows, "path_correctness")
    return HeatCell(
        episode=min(rows, key=worst_first).id,
        value=value,
        shade=0 if value is None else round(SHADES * value),
        harmful=sum(bool(row.scores.get("harmful_calls")) for row in rows),
        charged=sum(bool(charged(row.scores)) for row in rows),
        passed=passed_text(rows),
        episodes=len(rows),
    )
