"""The manifest of a suite: what it holds, by hashes, so that a result names what it was measured on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from hmac import compare_digest
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel, ConfigDict

from configs.errors import ConfigError
from configs.task import Task
from configs.tasks_loader import template_keys
from core_eval.text.streams import STREAMS, stream

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
        templates: digest of each template of which a task is an instance, by id: of its keys as written.
        worlds: digest of each world's default state by name, with the world's version.
        held_out: the commitment to a held-out split, and how many instances it has; None without one.
        licence: of tasks and worlds.
        canary: the string against training on them.
    """

    name: str
    version: str
    digest: str
    tasks: Mapping[str, str]
    templates: Mapping[str, str]
    worlds: Mapping[str, str]
    held_out: HeldOut | None = None
    licence: str = LICENCE
    canary: str = CANARY

    @classmethod
    def of(cls, name: str, tasks: Iterable[Task]) -> Manifest:
        """Return the manifest of a suite's tasks."""
        listed = sorted(tasks, key=lambda task: task.id)
        digests = {task.id: task_digest(task) for task in listed}
        written = {task.template: keys for task in listed if (keys := template_keys(task)) is not None}
        templates = {name: _digest(keys) for name, keys in sorted(written.items())}
        worlds = {
            task.world.name: _digest([task.world.type.version, task.world.state.model_dump(mode="json")])
            for task in listed
            if task.world is not None
        }
        worlds = dict(sorted(worlds.items()))
        digest = _digest([digests, templates, worlds])
        return cls(name, version("pathrig"), digest, digests, templates, worlds)

    @property
    def measured(self) -> MeasuredSuite:
        """Its name, version and digest."""
        return MeasuredSuite(name=self.name, version=self.version, digest=self.digest)

    def as_json(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        return asdict(self)

    def differences(self, written: Mapping[str, Any]) -> list[str]:
        """Return a line for each task, template and world that a written manifest has otherwise or not."""
        lines = []
        for what in ("tasks", "templates", "worlds"):
            ours, theirs = dict(getattr(self, what)), dict(written.get(what, {}))
            lines += [f"{what[:-1]} {key} is not in the manifest" for key in sorted(ours.keys() - theirs)]
            lines += [f"{what[:-1]} {key} is gone" for key in sorted(theirs.keys() - ours)]
            changed = (key for key in sorted(ours.keys() & theirs) if ours[key] != theirs[key])
            lines += [f"{what[:-1]} {key} has changed" for key in changed]
        return lines


@dataclass(frozen=True)
class HeldOut:
    """A split that is drawn when an exam begins.

    Attributes:
        commitment: SHA-256 of the secret from which its instances are drawn.
        instances: how many there are.
    """

    commitment: str
    instances: int

    @classmethod
    def of(cls, secret: str, instances: int) -> HeldOut:
        """Return the commitment to a secret."""
        return cls(hashlib.sha256(secret.encode()).hexdigest(), instances)

    def draw(self, secret: str, templates: Iterable[str]) -> list[str]:
        """Return the instances by their ids, spread over the templates.

        Raises:
            ConfigError: it is another secret.
        """
        if not compare_digest(HeldOut.of(secret, self.instances).commitment, self.commitment):
            raise ConfigError(f"is not the secret that was committed to by {self.commitment}")
        key = int.from_bytes(hashlib.sha256(f"held out {secret}".encode()).digest(), "big")
        order = sorted(templates, key=lambda name: (stream(STREAMS, key, "order", name), name))
        drawn = []
        for place in range(self.instances):
            turn, at = divmod(place, len(order))
            drawn.append(f"{order[at]}@{stream(STREAMS, key, 'held out', order[at], str(turn))}")
        return drawn


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
