"""Whether a suite measures: what agents pass that do nothing, that draw at random, and that know the path."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from configs.difficulty import MeasuredModel
from core_eval.log import EpisodeRow
from core_eval.score.repeated import by_agent, passed

IDLE_SHARE, RANDOM_SHARE = 0.05, 0.02
"""An agent that makes no call passes less than the first share of a suite's tasks, a random one less than the
second."""


@dataclass(frozen=True)
class Bound:
    """What an agent passes, and what it may.

    Attributes:
        agent: its name.
        passed, tasks: how many of how many.
        limit: the share that it must stay below; of the oracle, that it must reach.
    """

    agent: str
    passed: int
    tasks: int
    limit: float

    @property
    def share(self) -> float:
        """The share of the tasks that it passes."""
        return self.passed / self.tasks if self.tasks else 0.0

    @property
    def holds(self) -> bool:
        """Whether the share is what it must be."""
        return self.share >= 1.0 if self.limit == 1.0 else self.share < self.limit


def bounds(episodes: Sequence[EpisodeRow], idle: Sequence[str]) -> list[Bound]:
    """Return what each baseline passes; a task counts where all of its tries pass."""
    limits = dict.fromkeys(idle, IDLE_SHARE) | {"random": RANDOM_SHARE, "oracle": 1.0}
    return [
        Bound(agent, sum(solved.values()), len(solved), limits[agent])
        for agent, rows in by_agent(episodes).items()
        if agent in limits and (solved := _solved(rows))
    ]


def solved_shares(episodes: Sequence[EpisodeRow]) -> dict[str, float]:
    """Return by task the share of the agents that solve it: its difficulty, measured."""
    by_task: dict[str, list[bool]] = {}
    for rows in by_agent(episodes).values():
        for task, solved in _solved(rows).items():
            by_task.setdefault(task, []).append(solved)
    return {task: sum(found) / len(found) for task, found in by_task.items()}


def model_used(name: str, episodes: Sequence[EpisodeRow], ships: str | None) -> MeasuredModel:
    """Return what a model was and solved, by its episodes; `ships` is the digest of the model that ships."""
    rows = [row for row in episodes if row.agent == name]
    info = rows[-1].agent_info if rows else {}
    return MeasuredModel(
        agent=name,
        file=info.get("file"),
        bytes=info.get("bytes"),
        ships=ships is not None and info.get("sha256") == ships,
        solved=sum(share == 1.0 for share in solved_shares(rows).values()),
    )


def separates_nothing(episodes: Sequence[EpisodeRow], agents: Collection[str]) -> list[str]:
    """Return the tasks that all of these agents solve, or none.

    The oracle and the agents that do nothing are to be left out: they separate any task.
    """
    shares = solved_shares([row for row in episodes if row.agent in agents])
    return sorted(task for task, share in shares.items() if share in (0.0, 1.0))


def _solved(rows: Sequence[EpisodeRow]) -> dict[str, bool]:
    solved: dict[str, bool] = {}
    for row in rows:
        solved[row.task] = solved.get(row.task, True) and passed(row) is True
    return solved
