"""Starts among a world's hazards, and rigs with hidden deviations, for benchmarks with own episodes.

They are drawn as for `run --hazards`, and in each what is asked harms nothing; how often wrong runs do harm
from them is not looked at, so they are no selection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from configs.hazards import draw_hazards
from configs.task import Task
from configs.worlds_loader import World, make_simulator
from core_eval.path.calls import Call
from core_eval.run.hazard_start import oracle_calls
from core_eval.run.varied_start import HAZARD_DRAWS
from core_eval.verify.harmless_run import asked_run
from devices.hidden import hidden_parameters
from sims.overrides import stack_overrides


@dataclass(frozen=True)
class Begun:
    """An initial state, as overrides, and calls that do what is asked and no harm."""

    init: Mapping[str, Any]
    harmless: tuple[Call, ...]


def hidden_of(world: World, rng: Random) -> dict[str, float]:
    """Return a rig's hidden parameters, each uniform on its scale."""
    return {one.name: one.at(rng.random()) for one in hidden_parameters(type(world.state.hidden))}


def among_hazards(task: Task, world: World, key: str, *, faults: bool = True) -> Begun:
    """Return the first start drawn in which what is asked harms nothing; the task's own where none is so.

    Args:
        task: to be done.
        world: its world, which declares the hazards.
        key: decides what is drawn.
        faults: whether a rig may have faults.
    """
    hazards = {
        name: hazard
        for name, hazard in world.hazards.items()
        if faults or not any(start.keys() & {"faults", "hidden"} for start in hazard.one_of)
    }
    simulator, state = make_simulator(world), world.state.model_dump()
    golden = oracle_calls(task, 0)
    for number in range(HAZARD_DRAWS):
        _, drawn = draw_hazards(hazards, state, f"{key}/{number}")
        init = stack_overrides(drawn, task.init)
        if (proof := asked_run(replace(task, init=init), simulator, 0, golden)) is not None:
            return Begun(init, proof.calls)
    return Begun(task.init, tuple(golden))
