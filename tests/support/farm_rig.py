"""The default farm for tests: worlds, simulators, and calls in short."""

from collections.abc import Mapping
from threading import Event
from typing import Any

import yaml
from paths import ROOT

from configs.worlds_loader import load_world
from core_eval.harm.report import ExecutedCall
from devices.farm_rover.world import FarmWorld
from devices.outcome import Outcome
from devices.sensors import Sample
from sims.farm_rover.simulator import FarmSimulator

WORLD_FILE = ROOT / "configs" / "worlds" / "farm_rover.yaml"
STATE = {
    key: value
    for key, value in yaml.safe_load(WORLD_FILE.read_text()).items()
    if key in FarmWorld.model_fields
}
WORLD = FarmWorld.model_validate(STATE)
FARM_ROVER = load_world("farm_rover").device
PLACES = {**WORLD.plants, **WORLD.stations}

Script = list[tuple[str, dict[str, Any]]]


def at(name: str) -> dict[str, float]:
    """The arguments of a move to a named place of the default field."""
    return {"x": PLACES[name].x, "y": PLACES[name].y}


def rover(init: Mapping[str, Any] | None = None, seed: int = 0) -> tuple[FarmSimulator, list[Sample]]:
    """A simulator at its initial state, and the list that its samples go to."""
    simulator = FarmSimulator(WORLD)
    samples: list[Sample] = []
    simulator.subscribe(samples.append)
    answer = simulator.init(init or {}, seed)
    assert answer.status == "ok", answer.message
    return simulator, samples


def do(simulator: FarmSimulator, tool: str, **arguments: Any) -> Outcome:
    """One call that nothing stops."""
    return simulator.execute(tool, arguments, Event())


def run(
    script: Script, init: Mapping[str, Any] | None = None, seed: int = 0
) -> tuple[FarmSimulator, list[Sample]]:
    """A whole episode, settled; every call must succeed."""
    simulator, samples = rover(init, seed)
    for tool, arguments in script:
        outcome = do(simulator, tool, **arguments)
        assert outcome.status == "ok", (tool, outcome)
    simulator.finish()
    return simulator, samples


def executed(
    script: Script,
    init: Mapping[str, Any] | None = None,
    harmful: frozenset[int] = frozenset(),
    seed: int = 0,
) -> list[ExecutedCall]:
    """The calls of a script as a log would hold them; steps count from 10 to tell them from call indices."""
    simulator, _ = rover(init, seed)
    calls = []
    for k, (tool, arguments) in enumerate(script):
        outcome = do(simulator, tool, **arguments)
        calls.append(
            ExecutedCall(10 + k, tool, arguments, outcome.status, outcome.duration, harmful=k in harmful)
        )
    return calls
