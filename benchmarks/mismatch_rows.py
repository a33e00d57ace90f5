"""What the worlds of `mismatch.py` share: episodes, rows, and how an episode begins with a fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from agents.agent import Agent
from benchmarks.hazard_draws import among_hazards
from benchmarks.hidden_rigs import agent_of
from configs.fault_priors import FaultPriors
from configs.task import Task
from configs.worlds_loader import World, make_simulator
from core_eval.path.calls import Call
from devices.faults import STUCK_SENSOR
from sims.overrides import deep_merge


@dataclass(frozen=True)
class Start:
    """How an episode begins.

    Attributes:
        told: overrides of the initial state that the twin is told.
        true: the rig's own.
        hidden: the rig's hidden parameters in this episode.
        faulty: whether the rig has a fault of a kind that the twin knows.
    """

    told: dict[str, Any]
    true: dict[str, Any]
    hidden: dict[str, float]
    faulty: bool


class Row(Protocol):
    """One mismatch at one strength."""

    @property
    def name(self) -> str:
        """As printed."""

    @property
    def law(self) -> str:
        """Names the rig's equations; empty: the twin's."""

    def obeyed(self) -> AbstractContextManager[None]:
        """Let every simulator obey the rig's equations meanwhile."""

    def begin(self, told: Mapping[str, Any], world: World, hidden: Mapping[str, float], rng: Random) -> Start:
        """Return how an episode begins of which all this is believed."""


@dataclass(frozen=True)
class Episode:
    """What is run: the task whose limits hold, the initial state as it is believed, and the agent.

    `harmless` is what an oracle plays, and where a mutated one mistakes calls; None: a golden path.
    """

    task: Task
    told: dict[str, Any]
    agent: Agent
    harmless: Sequence[Call] | None = None


@dataclass(frozen=True)
class Benchmark:
    """What is run in a world.

    Attributes:
        rows: the mismatches.
        left_out: rules that a second table leaves out.
        episode: draws the episode of a number.
    """

    rows: Sequence[Row]
    left_out: Sequence[str]
    episode: Callable[[int, Sequence[Task], World, Random], Episode]


def task_episode(turn: int, kind: str, tasks: Sequence[Task], world: World, rng: Random) -> Episode:
    """Return an episode of `hidden_rigs`: the agents of a kind take the tasks in turn."""
    task = tasks[turn % len(tasks)]
    begun = among_hazards(task, world, str(rng.random()), faults=False)
    return Episode(task, dict(begun.init), agent_of(kind, turn // len(tasks)), begun.harmless)


def with_fault(
    true: Mapping[str, Any], chance: float, world: World, latest: float, rng: Random
) -> tuple[dict[str, Any], bool]:
    """Return the start, with a fault by chance, and whether it has one; `latest`: of its onset, s."""
    if rng.random() >= chance:
        return dict(true), False
    fault = drawn_fault(world.fault_priors, list(make_simulator(world).sensor_specs), latest, rng)
    return deep_merge(dict(true), {"faults": {"schedule": [fault]}}), True


def drawn_fault(priors: FaultPriors, sensors: Sequence[str], latest: float, rng: Random) -> dict[str, Any]:
    """Return a fault of a kind drawn by its prior, from the start or from some time of the episode on."""
    kind = rng.choices(list(priors), [prior.probability for prior in priors.values()])[0]
    low, high = priors[kind].strength
    at = 0.0 if rng.random() < 0.5 else rng.uniform(0.0, latest)
    fault = {"kind": kind, "at": round(at, 2), "strength": round(rng.uniform(low, high), 4)}
    return {**fault, "entity": rng.choice(list(sensors))} if kind == STUCK_SENSOR else fault
