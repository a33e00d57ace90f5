"""Simulators, each beside what a host knows of it."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Event
from typing import Any

from arm_rig import WORLD as BENCH
from arm_rig import arm
from farm_rig import WORLD, rover

from devices.farm_rover.known_state import KnownFarmRover
from devices.known_state import KnownState
from devices.outcome import Outcome
from devices.robotic_arm.known_state import KnownArm
from devices.sensors import Sample
from sims.overrides import merge_world
from sims.simulator import Simulator

Step = tuple[str, Mapping[str, Any]]

UNLOCK: Step = ("unlock_safety_mode", {})
NEAR_B: Step = ("move_to", {"x": 3.5, "y": 12.0})


class Watched:
    """A simulator, and beside it what a host knows of it: every call is asked about before it is made."""

    def __init__(self, simulator: Simulator[Any], known: KnownState, samples: list[Sample]) -> None:
        self.simulator, self.known, self.samples = simulator, known, samples
        self.foreseen = self.rejected = 0

    def do(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str | None, Outcome]:
        """The code that the host foresees, and what the device says."""
        full = self.simulator.device_type.validate(tool, arguments).model_dump()
        refusal = self.known.refusal(tool, full)
        outcome = self.simulator.execute(tool, arguments, Event())
        if refusal is not None:
            assert outcome.status == "rejected", (tool, arguments, refusal.message, outcome)
        self.rejected += outcome.status == "rejected"
        self.foreseen += refusal is not None
        self.known.on_outcome(tool, full, outcome)
        for sample in self.samples:
            self.known.on_sample(sample)
        self.samples.clear()
        return None if refusal is None else refusal.code, outcome


def farm(init: Mapping[str, Any] | None = None) -> Watched:
    simulator, samples = rover(init)
    world = merge_world(WORLD, init or {})
    return Watched(simulator, KnownFarmRover(world, initial=True), samples)


def bench(init: Mapping[str, Any] | None = None) -> Watched:
    simulator, samples = arm(init)
    world = merge_world(BENCH, {"safety_locked": False, **(init or {})})
    return Watched(simulator, KnownArm(world, initial=True), samples)


def last(watched: Watched, *steps: Step) -> tuple[str | None, Outcome]:
    *before, final = steps
    for tool, arguments in before:
        _, outcome = watched.do(tool, arguments)
        assert outcome.status == "ok", (tool, outcome)
    return watched.do(*final)


PICK_B: Step = ("harvest_fruit", {"plant_id": "plant_B"})
POUR: Step = ("water_plant", {"plant_id": "plant_B", "liters": 4.0})
