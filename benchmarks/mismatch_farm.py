"""The mismatches of the farm rover, for `mismatch.py`: soil, start, flow, faults, a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from random import Random
from typing import Any

from benchmarks.field_soil import SoilLaw, soil_law
from benchmarks.hidden_rigs import AGENTS
from benchmarks.mismatch_rows import Benchmark, Episode, Start, task_episode, with_fault
from configs.task import Task
from configs.worlds_loader import World, merged_state
from devices.farm_rover.world import FarmWorld
from sims.overrides import deep_merge

LAG_FACTOR = 10.0
"""By how much a worn hose valve is slower, at strength 1: a fault that the twin has no name for."""
LATEST_FAULT = 120.0
"""Latest onset of a fault, s."""


@dataclass(frozen=True)
class Mismatch:
    """What is wrong about the twin's model.

    Attributes:
        name: as printed.
        start: moistures, tanks and charge are off by up to this share.
        fault: the probability of a fault of a kind that the twin knows.
        unnamed: the strength of one that it has no name for.
        flow: the flow is off by up to this share of the calibrated one (head, voltage).
        law: the rig's soil, of `benchmarks.field_soil`; empty: Green and Ampt's.
        person: the twin is not told the person's path.
    """

    name: str
    start: float = 0.0
    fault: float = 0.0
    unnamed: float = 0.0
    flow: float = 0.0
    law: SoilLaw = ""
    person: bool = False

    def obeyed(self) -> AbstractContextManager[None]:
        """Let every farm that is simulated meanwhile have the rig's soil."""
        return soil_law(self.law)

    def begin(self, told: Mapping[str, Any], world: World, hidden: Mapping[str, float], rng: Random) -> Start:
        """Return how an episode begins of which all this is believed."""
        assert isinstance(world.state, FarmWorld)
        told, own = dict(told), dict(hidden)
        true = wrong_start(told, world, self.start, rng)
        true, faulty = with_fault(true, self.fault, world, LATEST_FAULT, rng)
        if self.unnamed:
            lag = world.state.rover.hose_lag_s * LAG_FACTOR * self.unnamed
            true = deep_merge(true, {"rover": {"hose_lag_s": lag}})
        if self.flow:
            own["water_flow"] *= 1.0 + rng.uniform(-self.flow, self.flow)
        if self.person:
            told.pop("person", None)
        return Start(told, true, own, faulty)


MISMATCHES = (
    Mismatch("matched"),
    Mismatch("everyday: start 20 %, fault 1 in 10, field soil", start=0.2, fault=0.1, law="field"),
    Mismatch("start 10 %", start=0.1),
    Mismatch("start 20 %", start=0.2),
    Mismatch("start 30 %", start=0.3),
    Mismatch("fault in every episode", fault=1.0),
    Mismatch("Philip's soil", law="philip"),
    Mismatch("flow 10 % (head, voltage)", flow=0.1),
    Mismatch("flow 20 % (head, voltage)", flow=0.2),
    Mismatch("unnamed fault (slow valve)", unnamed=1.0),
    Mismatch("person not told", person=True),
    Mismatch("field soil (Horton; Clapp and Hornberger)", law="field"),
    Mismatch("everyday with Philip's soil", start=0.2, fault=0.1, law="philip"),
)


def wrong_start(told: Mapping[str, Any], world: World, share: float, rng: Random) -> dict[str, Any]:
    """Return the true start: moistures, tanks and charge are off the believed ones by up to a share."""
    state = merged_state(world, told)
    assert isinstance(state, FarmWorld)
    if not share:
        return dict(told)

    def off(value: float, most: float) -> float:
        return min(most, value * (1.0 + rng.uniform(-share, share)))

    return deep_merge(
        dict(told),
        {
            "plants": {
                name: {"moisture": off(plant.moisture, state.soil.saturation)}
                for name, plant in state.plants.items()
            },
            "water_tank": {"liters": off(state.water_tank.liters, state.water_tank.capacity_liters)},
            "pesticide_tank": {"ml": off(state.pesticide_tank.ml, state.pesticide_tank.capacity_ml)},
            "battery": off(state.battery, 1.0),
        },
    )


def _episode(number: int, tasks: Sequence[Task], world: World, rng: Random) -> Episode:
    turn, kind = divmod(number, len(AGENTS))
    return task_episode(turn, AGENTS[kind], tasks, world, rng)


# The telemetry cannot decide the rule left out: a full hopper reads the same as one too full.
FARM = Benchmark(MISMATCHES, ("hopper_overfill",), _episode)
