"""The kit's twin as an entry: `python -m benchmarks.seeing.twin EPISODES.jsonl > twin.jsonl`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.seeing.episodes import Cell, Episode, Prediction, read_episodes, tell
from configs.worlds_loader import World, load_world, make_simulator, merged_state
from core_eval.call_status import CallStatus
from core_eval.harm.report import ExecutedCall
from core_eval.harm.twin.likelihood import astray, channels
from core_eval.harm.twin.logged_episode import LoggedCall, LoggedEpisode, not_assessed
from core_eval.harm.twin.parameters import Priors
from core_eval.harm.twin.posterior import Twin
from core_eval.harm.twin.unknowns import Unknowns
from devices.hidden import hidden_parameters
from devices.outcome import PROTECTIVE_STOP
from devices.sensors import Sample

DISCREPANCY = 0.02
MEMBERS = 32


def logged(episode: Episode) -> LoggedEpisode:
    """Return the episode as the twin reads it from a log."""
    calls = []
    for k, one in enumerate(episode.calls):
        cut = one["code"] == PROTECTIVE_STOP
        took = one["end"] - one["start"]
        call = ExecutedCall(
            k, one["name"], one["arguments"], CallStatus(one["status"]), took, False, partly=cut
        )
        calls.append(
            LoggedCall(call, one["start"], one["result"] if isinstance(one["result"], dict) else None)
        )
    return LoggedEpisode(
        tuple(calls), tuple(Sample(one["sensor"], one["value"], one["t"]) for one in episode.samples)
    )


def predict(episode: Episode) -> Prediction:
    """Return the predictions of an episode: of a cell, that of its most probable event.

    A rule of whose input nobody told the twin is not assessed.
    """
    world = load_world(episode.world)
    there = World(world.name, world.type, merged_state(world, episode.told))
    priors = Priors(hidden_parameters(type(world.state.hidden)), {})
    unknowns = Unknowns(world.spreads, world.fault_priors, discrepancy=DISCREPANCY)
    twin = Twin(lambda: make_simulator(there), priors, MEMBERS, unknowns)
    log = logged(episode)
    found = twin.condition(log, episode.seed)
    likely: dict[Cell, float] = {}
    for one in found.events():
        cell = one.key[:2]
        likely[cell] = max(likely.get(cell, 0.0), one.probability)
    best = max(found.played.members, key=lambda member: member.log_likelihood)
    blind = not_assessed(
        world.type.harm_rules, there.state.model_dump(), (), astray(channels(log, best.track))
    )
    return Prediction(
        episode.id, {cell: None if cell[0] in blind else likely.get(cell, 0.0) for cell in episode.cells}
    )


if __name__ == "__main__":
    tell(map(predict, read_episodes(Path(sys.argv[1]))))
