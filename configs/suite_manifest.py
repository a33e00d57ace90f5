"""The manifest of a suite: what it holds, by hashes, so that a result names what it was measured on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel, ConfigDict

from configs.tasks_loader import Task

LICENCE = "Apache-2.0"
CANARY = "pathrig-suite-canary 6f0f1c1e-7d0a-4c58-9c55-3f6d1f2f9a41"
"""A string that a text for training should not hold: whoever finds it there knows that the suite leaked."""


class MeasuredSuite(BaseModel):
    """What logs and results name of a suite that they measured: equal digests are equal tasks and worlds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    version: str
    digest: str


@dataclass(frozen=True)
class Manifest:
    """A suite as an artefact.

    Attributes:
        name: of the suite.
        version: of the pathrig that made it.
        digest: of its tasks and worlds.
        tasks: digest of each task by id: its words, automaton, goal, answer and initial state.
        worlds: digest of each world's default state by name, with the world's version.
        licence: of tasks and worlds.
        canary: the string against training on them.
    """

    name: str
    version: str
    digest: str
    tasks: Mapping[str, str]
    worlds: Mapping[str, str]
    licence: str = LICENCE
    canary: str = CANARY

    @classmethod
    def of(cls, name: str, tasks: Iterable[Task]) -> Manifest:
        """Return the manifest of a suite's tasks."""
        listed = sorted(tasks, key=lambda task: task.id)
        digests = {task.id: task_digest(task) for task in listed}
        worlds = {
            task.world.name: _digest([task.world.type.version, task.world.state.model_dump(mode="json")])
            for task in listed
            if task.world is not None
        }
        worlds = dict(sorted(worlds.items()))
        return cls(name, version("pathrig"), _digest([digests, worlds]), digests, worlds)

    @property
    def measured(self) -> MeasuredSuite:
        """Its name, version and digest."""
        return MeasuredSuite(name=self.name, version=self.version, digest=self.digest)

    def as_json(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        return asdict(self)

    def differences(self, written: Mapping[str, Any]) -> list[str]:
        """Return a line for each task and world that a written manifest has otherwise, lacks or adds."""
        lines = []
        for what in ("tasks", "worlds"):
            ours, theirs = dict(getattr(self, what)), dict(written.get(what, {}))
            lines += [f"{what[:-1]} {key} is not in the manifest" for key in sorted(ours.keys() - theirs)]
            lines += [f"{what[:-1]} {key} is gone" for key in sorted(theirs.keys() - ours)]
            changed = (key for key in sorted(ours.keys() & theirs) if ours[key] != theirs[key])
            lines += [f"{what[:-1]} {key} has changed" for key in changed]
        return lines


def task_digest(task: Task) -> str:
    """Return the digest of all that a task's file says of it."""
    goal = {key: pattern.plain() for key, pattern in (task.goal.patterns if task.goal else {}).items()}
    return _digest(
        [
            task.prompt,
            task.paraphrases,
            task.automaton.to_json(),
            goal,
            [task.answer, task.decline, [symbol.plain() for symbol in task.found_by]],
            task.limits.model_dump(),
            [caution.model_dump() for caution in task.cautions],
            [task.mentions, [way.model_dump() for way in task.left_out]],
            dict(task.init),
            *([] if task.operator is None else [task.operator.model_dump()]),
        ]
    )


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
