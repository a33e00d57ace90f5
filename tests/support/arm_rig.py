"""The default bench for tests: worlds, simulators, and calls in short."""

from collections.abc import Mapping, Sequence
from threading import Event
from typing import Any

import yaml
from paths import ROOT

from core_eval.harm.report import ExecutedCall
from devices.harm import HarmEvent
from devices.outcome import PROTECTIVE_STOP, Outcome
from devices.robotic_arm.world import BenchWorld
from devices.sensors import Sample
from sims.robotic_arm.simulator import ArmSimulator

WORLD_FILE = ROOT / "configs" / "worlds" / "robotic_arm.yaml"
STATE = {
    key: value
    for key, value in yaml.safe_load(WORLD_FILE.read_text()).items()
    if key in BenchWorld.model_fields
}
WORLD = BenchWorld.model_validate(STATE)
UNLOCKED = {"safety_locked": False}

Script = Sequence[tuple[str, Mapping[str, Any]]]


def arm(init: Mapping[str, Any] | None = None, seed: int = 0) -> tuple[ArmSimulator, list[Sample]]:
    """An unlocked simulator at its initial state, and the list that its samples go to."""
    simulator = ArmSimulator(WORLD)
    samples: list[Sample] = []
    simulator.subscribe(samples.append)
    answer = simulator.init({**UNLOCKED, **(init or {})}, seed)
    assert answer.status == "ok", answer.message
    return simulator, samples


def do(simulator: ArmSimulator, tool: str, **arguments: Any) -> Outcome:
    """One call that nothing stops."""
    return simulator.execute(tool, arguments, Event())


def to(x: float, y: float, z: float, yaw: float = 0.0) -> tuple[str, dict[str, float]]:
    """A move, as a script holds it."""
    return "move_to", {"x": x, "y": y, "z": z, "yaw": yaw}


def pick(name: str) -> tuple[str, dict[str, str]]:
    """A pick, as a script holds it."""
    return "pick", {"object_id": name}


def place(name: str, z: float | None = None) -> tuple[str, dict[str, float]]:
    """A place at a bin of the default bench."""
    tray = WORLD.bins[name]
    return "place", {"x": tray.x, "y": tray.y, "z": tray.z if z is None else z, "yaw": tray.yaw}


def run(
    script: Script, init: Mapping[str, Any] | None = None, seed: int = 0
) -> tuple[ArmSimulator, list[Sample]]:
    """A whole episode, settled; every call must succeed, or end by the protective stop."""
    simulator, samples = arm(init, seed)
    for tool, arguments in script:
        outcome = do(simulator, tool, **arguments)
        assert outcome.status == "ok" or outcome.code == PROTECTIVE_STOP, (tool, outcome)
    simulator.finish()
    return simulator, samples


def events(script: Script, init: Mapping[str, Any] | None = None) -> dict[tuple[str, str], HarmEvent]:
    """The harm events of an episode by kind and entity."""
    return {(event.kind, event.entity): event for event in run(script, init)[0].events}


def executed(
    script: Script, init: Mapping[str, Any] | None = None, harmful: frozenset[int] = frozenset()
) -> list[ExecutedCall]:
    """The calls of a script as a log would hold them."""
    simulator, _ = arm(init)
    calls = []
    for k, (tool, arguments) in enumerate(script):
        outcome = do(simulator, tool, **arguments)
        calls.append(
            ExecutedCall(
                k,
                tool,
                arguments,
                outcome.status,
                outcome.duration,
                harmful=k in harmful,
                partly=outcome.code == PROTECTIVE_STOP,
            )
        )
    return calls
