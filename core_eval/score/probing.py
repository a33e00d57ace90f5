"""The probing episode of a world, simulated: which part of it tells each hidden parameter."""

from __future__ import annotations

from functools import partial
from threading import Event

from agents.baselines.scripted import read_script
from configs.worlds_loader import load_world, make_simulator
from core_eval.harm.report import ExecutedCall
from core_eval.harm.twin.calibration import (
    Calibration,
    telling,
)
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.parameters import Priors
from devices.sensors import Sample


def probing_parts(world_name: str, priors: Priors, found: Calibration, seed: int) -> dict[str, str | None]:
    """Return which part of a simulated probing episode of the fitted rig identifies each parameter."""
    world = load_world(world_name)
    if world.type.probing is None:
        return {}
    make = partial(make_simulator, world)
    simulator = make()
    samples: list[Sample] = []
    simulator.subscribe(samples.append)
    simulator.init({"hidden": dict(found.best)}, seed)
    calls, results = [], []
    for k, (tool, arguments) in enumerate(read_script(world.type.probing)):
        outcome = simulator.execute(tool, arguments, Event())
        calls.append(ExecutedCall(k, tool, arguments, outcome.status, outcome.duration, harmful=False))
        results.append(outcome.value)
    return telling(make, LoggedEpisode.following(calls, samples, results), priors, found.best)
