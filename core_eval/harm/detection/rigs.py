"""Rigs of an episode's kind: hidden parameters and initial state drawn, with and without its harm."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from configs.variation import Variation, draw_state
from core_eval.call_status import CallStatus
from core_eval.harm.counterfactual import Change, recurs
from core_eval.harm.detection.telemetry_vector import SETTLING_STRETCHES
from core_eval.harm.replay import MakeSimulator, ReplayError
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.member import Driver, Seldom, Track
from core_eval.harm.twin.parameters import Priors
from devices.harm import LEAVE_OUT, HarmEvent
from sims.faults import faults_of, scheduled
from sims.overrides import deep_merge

SETTLING_SAMPLES = 5
"""Samples of a sensor in each stretch of the settling, of which mean and greatest value are judged."""
SELDOM = Seldom(most=40, waiting=10, least=2.0, longest=60.0, quick=15.0, settling=0.0)
"""How seldom the sensors of drawn rigs are read: hours of noise tell no more."""
Key = tuple[str, str, int]
"""Kind and entity of an event, and the index of its call."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Rigs of one kind, and the episode that they play.

    Attributes:
        make_simulator: a new simulator of the rigs' world.
        init: the episode's own overrides of its initial state.
        seed: the episode's; it draws the world's random faults, which all rigs share.
        episode: its calls, which keep their effects and times on every rig.
        priors: the distributions of the hidden parameters; None where the world has none.
        spreads: the ranges of the initial state (`configs.worlds_loader.World.spreads`).
    """

    make_simulator: MakeSimulator
    init: Mapping[str, Any]
    seed: int
    episode: LoggedEpisode
    priors: Priors | None
    spreads: Mapping[str, Variation]


@dataclass(frozen=True, slots=True)
class Played:
    """One drawn rig.

    Attributes:
        track: the episode on it, harm included.
        harmless: by event, the same with the remedy, where the event happened; without a remedy that prevents
            it, and once it is settled, the event is left out.
        happened: the events that happened, of those that were asked for.
    """

    track: Track
    harmless: Mapping[Key, Track]
    happened: frozenset[Key]


def play_rigs(
    kind: Kind, remedies: Mapping[Key, str], count: int, first: int = 0, settled: Collection[Key] = ()
) -> Iterator[Played]:
    """Play the episode on rigs drawn by number, with and without each event.

    Args:
        kind: of rigs.
        remedies: the remedy of the rule of each event that is asked for.
        count: the number of rigs. A draw that the simulator refuses is left out.
        first: the number of the first; rigs of the same number are the same.
        settled: the events whose remedies are not played any more; it may grow meanwhile.
    """
    driver = Driver(kind.make_simulator, lossy=True, deferred=True)
    simulator = driver.simulator
    simulator.init(kind.init, kind.seed)
    apart = simulator.settling / (SETTLING_STRETCHES * SETTLING_SAMPLES)
    driver.seldom = replace(SELDOM, settling=apart)
    state = simulator.world.model_dump(mode="json")
    until = kind.episode.end + simulator.settling
    faults = scheduled(faults_of(simulator.world), kind.seed, until).model_dump(mode="json")
    shared = {**kind.init, "faults": faults} if "faults" in state else kind.init
    ask = any(one.call.status == CallStatus.REJECTED for one in kind.episode.calls)
    for number in range(first, first + count):
        start = deep_merge(shared, draw_state(kind.spreads, state, f"detection/{kind.seed}/{number}"))
        rng = np.random.default_rng((kind.seed % 2**32, number))
        hidden: dict[str, float] = {}
        if kind.priors is not None:
            hidden = kind.priors.values(rng.standard_normal(len(kind.priors.names)))
        seed = int(rng.integers(2**31))

        wanted = {key: remedy for key, remedy in remedies.items() if key not in settled}
        try:
            track = driver.drive(
                kind.episode,
                hidden,
                seed,
                ask=ask,
                start=start,
                forks_from=min((call for *_, call in wanted), default=math.inf),
            )
        except ReplayError:
            continue
        events = {(event.kind, event.entity, event.call): event for event in track.events}
        harmless = {
            key: found
            for key, remedy in wanted.items()
            if key in events
            and (found := _prevented(driver, kind.episode, events[key], remedy, track.events, ask=ask))
            is not None
        }
        yield Played(track, harmless, frozenset(remedies.keys() & events.keys()))


def _prevented(
    driver: Driver,
    episode: LoggedEpisode,
    event: HarmEvent,
    remedy: str,
    events: Sequence[HarmEvent],
    *,
    ask: bool,
) -> Track | None:
    """Return the course with the remedy that prevents the event; None where none does."""
    for tried in dict.fromkeys((remedy, LEAVE_OUT)):
        change = Change((event.call,), tried, event)
        track = driver.drive_on(episode, driver.forks[event.call], change, ask=ask)
        if not recurs(event, events, track.events):
            return track
    return None
