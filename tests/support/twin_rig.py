"""Rigs that tell no truth, for tests of their twins: a farm rover with hidden parameters, and its log."""

from collections.abc import Mapping
from typing import Any

from farm_rig import WORLD, Script, do, rover

from core_eval.harm.report import ExecutedCall
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.parameters import FittedParameter, Priors
from devices.harm import HarmEvent
from sims.farm_rover.simulator import FarmSimulator


def make() -> FarmSimulator:
    """The simulator of the twin: the world as anybody would describe it."""
    return FarmSimulator(WORLD)


def priors(**estimates: tuple[float, float]) -> Priors:
    """What is believed of the rover; values and spreads by parameter."""
    return Priors.of(WORLD, {name: FittedParameter(*found) for name, found in estimates.items()})


def nominal(spread: float = 1e-6) -> Priors:
    """A rover that is known to be as it says."""
    return priors(**{one.parameter.name: (one.parameter.nominal, spread) for one in priors().each})


def logged(
    script: Script,
    init: Mapping[str, Any] | None = None,
    hidden: Mapping[str, float] | None = None,
    seed: int = 7,
    harmful: frozenset[int] = frozenset(),
) -> tuple[LoggedEpisode, tuple[HarmEvent, ...]]:
    """What a rig with these hidden parameters logs of a script, and its true harm events."""
    simulator, samples = rover({**(init or {}), "hidden": dict(hidden or {})}, seed)
    calls, results = [], []
    for k, (tool, arguments) in enumerate(script):
        outcome = do(simulator, tool, **arguments)
        calls.append(ExecutedCall(k, tool, arguments, outcome.status, outcome.duration, harmful=k in harmful))
        results.append(outcome.value)
    episode = LoggedEpisode.following(calls, list(samples), results)
    simulator.finish()
    simulator.run_out()
    return episode, simulator.events


def key(event: Any) -> tuple[str, str, int]:
    """What events of a simulator and of a twin are matched by: each call is a step."""
    return event.kind, event.entity, event.call if hasattr(event, "call") else event.k
