"""How hard the shipped tasks are, as measured: the share of a fixed set of agents that solves each.

The file is written by `pathrig suite check core --planners -o FILE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from configs.suite_manifest import MeasuredSuite, task_digest
from configs.task import Task

SHIPPED = Path(__file__).parent / "difficulty.json"


class MeasuredTask(BaseModel):
    """A task, by the digest of what was measured, and the share of the agents that solved it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    digest: str
    solved: float


class Measured(BaseModel):
    """What was measured, and of whom.

    Attributes:
        suite: the suite that was run.
        seed: of the episodes.
        agents: the agents that each task was given to, once each.
        tasks: by id.
        separates_nothing: the tasks that all of the planners with mistakes solve, or none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    suite: MeasuredSuite
    seed: int
    agents: tuple[str, ...]
    tasks: Mapping[str, MeasuredTask]
    separates_nothing: tuple[str, ...] = ()


@cache
def shipped_difficulty() -> Measured | None:
    """Return what ships with the kit."""
    if not SHIPPED.exists():
        return None
    return Measured.model_validate_json(SHIPPED.read_bytes())


def solved_share(task: Task) -> float | None:
    """Return the share of agents that solves a task; None where it was not measured as it is now."""
    measured = shipped_difficulty()
    own = None if measured is None else measured.tasks.get(task.id)
    return own.solved if own is not None and own.digest == task_digest(task) else None
