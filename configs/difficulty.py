"""How hard the shipped tasks are, as measured: the share of a fixed set of agents that solves each.

The file is written by `pathrig suite check core --planners --agent llama -o FILE`.
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


class MeasuredModel(BaseModel):
    """A model among the agents.

    Attributes:
        agent: its name.
        file, bytes: the model's file and its size; None for a server's.
        ships: whether it is the small model that ships with the kit.
        solved: how many of the tasks it solved.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: str
    file: str | None = None
    bytes: int | None = None
    ships: bool = False
    solved: int


class Measured(BaseModel):
    """What was measured, and of whom.

    Attributes:
        suite: the suite that was run.
        seed: of the episodes.
        agents: the agents that each task was given to, once each.
        tasks: by id.
        models: those of the agents that are models.
        separates_nothing: the tasks that all of the planners with mistakes solve, or none.
        separates_nothing_with_models: the tasks that all of these planners and models solve, or none: what a
            weak model fails is left out here.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    suite: MeasuredSuite
    seed: int
    agents: tuple[str, ...]
    tasks: Mapping[str, MeasuredTask]
    models: tuple[MeasuredModel, ...] = ()
    separates_nothing: tuple[str, ...] = ()
    separates_nothing_with_models: tuple[str, ...] = ()


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
