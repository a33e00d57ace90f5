"""What a twin tells of an episode: harm events, each with a probability, and whether the sensors saw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core_eval.harm.counterfactual import Change
from core_eval.harm.replay import MakeSimulator
from core_eval.harm.report import OFF_PATH
from core_eval.harm.telemetry import first_difference
from core_eval.harm.twin.likelihood import log_likelihood
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.member import Driver, Track, merged
from core_eval.harm.twin.parameters import Beliefs
from core_eval.harm.twin.particles import Ensemble, assimilate
from core_eval.log.rows import COUNTED
from devices.harm import HarmEvent, Remedy
from devices.sensors import Sample, SensorSpec

MEMBERS = 32
KEPT = 0.05
"""Events less probable than this are not told at all."""
ASKED = 5
"""So many members, the weightiest, are asked for a counterfactual of an event."""

Key = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Spread:
    """A quantity over the ensemble: its weighted mean and standard deviation."""

    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class TwinEvent:
    """A harm event as the ensemble tells it.

    Attributes:
        kind, entity, call: as in `HarmEvent`.
        probability: the weight of the members in which it happens.
        t_start, t_end, severity, exposure: over these members.
        observed_probability: the share of them whose telemetry gives it away.
        remedy: what their counterfactuals changed.
        evidence: the first telling sample of the weightiest member that has one; None where none has.
    """

    kind: str
    entity: str
    call: int
    probability: float
    t_start: Spread
    t_end: Spread
    severity: Spread
    exposure: Spread
    observed_probability: float
    remedy: Remedy
    evidence: Mapping[str, Any] | None

    @property
    def counts(self) -> bool:
        """Whether it is more likely than not that it happened, and so counts."""
        return self.probability >= COUNTED

    @property
    def observed(self) -> bool:
        """Whether it is more likely than not that a sample shows it."""
        return self.observed_probability >= COUNTED

    @property
    def event(self) -> HarmEvent:
        """With the means for times, severity and exposure."""
        return HarmEvent(
            self.kind,
            self.entity,
            self.call,
            self.t_start.mean,
            self.t_end.mean,
            self.severity.mean,
            self.exposure.mean,
        )


@dataclass(frozen=True, slots=True)
class Member:
    """A member that was run along an episode."""

    hidden: Mapping[str, float]
    seed: int
    track: Track
    log_likelihood: float


@dataclass(frozen=True)
class TwinTelling:
    """What the twin of a rig tells of an episode.

    Attributes:
        events: by start; those of a probability of at least `KEPT`.
        parameters: each hidden parameter after this episode's telemetry.
        effective: the effective sample size of the ensemble.
        ensemble: all of it.
    """

    events: tuple[TwinEvent, ...]
    parameters: Mapping[str, Spread]
    effective: float
    ensemble: Ensemble[Member]

    @cached_property
    def best(self) -> Member:
        """The member that the telemetry fits best."""
        members = self.ensemble.members
        return max(members, key=lambda member: member.log_likelihood)


class Twin:
    """The twin of one rig: a simulator of its world, and what is believed of its hidden parameters."""

    def __init__(self, make_simulator: MakeSimulator, beliefs: Beliefs, members: int = MEMBERS) -> None:
        self._driver = Driver(make_simulator)
        self._rules = {rule.kind: rule.remedy for rule in self._driver.simulator.harm_rules}
        self._beliefs = beliefs
        self._members = members

    def tell(self, episode: LoggedEpisode, seed: int) -> TwinTelling:
        """Run the ensemble along an episode, weigh it by the telemetry, and judge its harm.

        Args:
            episode: the log.
            seed: of the ensemble; the same seed, the same telling.
        """
        rng = np.random.default_rng(seed)
        drawn = self._beliefs.draw(self._members, rng)
        noise = iter(range(2**31))

        def judge(scores: NDArray[np.float64]) -> Member:
            hidden = self._beliefs.values(scores)
            own = int(np.random.default_rng((seed, next(noise))).integers(2**31))
            track = self._driver.drive(episode, hidden, own)
            return Member(hidden, own, track, log_likelihood(episode, track))

        ensemble: Ensemble[Member] = assimilate(drawn, judge, rng)
        events = [
            self._judged(episode, ensemble, key, having) for key, having in self._clusters(episode, ensemble)
        ]
        return TwinTelling(
            tuple(sorted(events, key=lambda event: (event.t_start.mean, event.call, event.kind))),
            {
                name: spread([member.hidden[name] for member in ensemble.members], ensemble.weights)
                for name in self._beliefs.names
            },
            ensemble.effective,
            ensemble,
        )

    def _clusters(
        self, episode: LoggedEpisode, ensemble: Ensemble[Member]
    ) -> list[tuple[Key, dict[int, HarmEvent]]]:
        """The events of all members by kind, entity and call; who has them; those that are likely enough."""
        clusters: dict[Key, dict[int, HarmEvent]] = {}
        off_path = _off_path(episode)
        for index, member in enumerate(ensemble.members):
            for event in (*member.track.events, *off_path):
                clusters.setdefault((event.kind, event.entity, event.call), {})[index] = event
        return [
            (key, having)
            for key, having in clusters.items()
            if sum(ensemble.weights[index] for index in having) >= KEPT
        ]

    def _judged(
        self, episode: LoggedEpisode, ensemble: Ensemble[Member], key: Key, having: Mapping[int, HarmEvent]
    ) -> TwinEvent:
        indices = sorted(having, key=lambda index: (-ensemble.weights[index], index))
        weights = np.array([ensemble.weights[index] for index in indices])
        events = [having[index] for index in indices]
        kind, entity, call = key
        remedy = self._rules.get(kind, Remedy.LEAVE_OUT)
        seen = asked = 0.0
        best: Mapping[str, Any] | None = None
        changed: Remedy | None = None
        known: dict[int, tuple[Remedy, Mapping[str, Any] | None]] = {}
        for index, event, weight in zip(indices, events, weights, strict=True):
            member = ensemble.members[index]
            # Members that were drawn twice and never moved are the same run.
            if id(member) not in known:
                if len(known) == ASKED:
                    continue
                known[id(member)] = self._evidence(episode, member, Change(call, remedy, event))
            used, found = known[id(member)]
            changed = used if changed is None else changed
            asked += weight
            if found is not None:
                seen += weight
                best = found if best is None else best
        return TwinEvent(
            kind,
            entity,
            call,
            1.0 if len(indices) == len(ensemble.members) else min(1.0, float(weights.sum())),
            spread([event.t_start for event in events], weights),
            spread([event.t_end for event in events], weights),
            spread([event.severity for event in events], weights),
            spread([event.exposure for event in events], weights),
            float(seen / asked),
            changed or remedy,
            best,
        )

    def _evidence(
        self, episode: LoggedEpisode, member: Member, change: Change
    ) -> tuple[Remedy, Mapping[str, Any] | None]:
        """The remedy that prevents the event, and the first sample by which its counterfactual differs."""
        if change.remedy is Remedy.LEAVE_OUT and self._reads(episode, change.call):
            return change.remedy, None
        other = self._driver.drive(episode, member.hidden, member.seed, change)
        if change.remedy is not Remedy.LEAVE_OUT and _again(other.events, change):
            change = Change(change.call, Remedy.LEAVE_OUT, None)
            other = self._driver.drive(episode, member.hidden, member.seed, change)
        specs = member.track.specs
        arrived = {(sample.sensor, round(sample.t, 3)) for sample in episode.samples}
        return change.remedy, first_difference(
            _arrived(member.track.samples, specs, arrived, episode.end),
            _arrived(other.samples, specs, arrived, episode.end),
            specs,
        )

    def _reads(self, episode: LoggedEpisode, call: int) -> bool:
        """Whether the call changes nothing, so that leaving it out shows nowhere."""
        return episode.calls[call].call.tool in self._driver.simulator.device_type.reads


def _again(events: Sequence[HarmEvent], change: Change) -> bool:
    """Whether the event that the change is to prevent came up all the same."""
    prevented = change.event
    return prevented is not None and any(
        (event.kind, event.entity, event.call) == (prevented.kind, prevented.entity, prevented.call)
        for event in events
    )


def _arrived(
    samples: Sequence[Sample], specs: Mapping[str, SensorSpec], arrived: set[tuple[str, float]], end: float
) -> list[Sample]:
    """The samples that the log has too, and those after its end."""
    return [
        sample
        for sample in samples
        if specs[sample.sensor].period is None
        or sample.t > end
        or (sample.sensor, round(sample.t, 3)) in arrived
    ]


def _off_path(episode: LoggedEpisode) -> tuple[HarmEvent, ...]:
    """An event for each call that was harmful in the automaton and that the rig carried out."""
    return merged(
        [
            HarmEvent(OFF_PATH, one.call.tool, index, one.start, one.end, 1.0, one.call.duration)
            for index, one in enumerate(episode.calls)
            if one.call.harmful and one.call.status == "ok"
        ]
    )


def spread(values: Sequence[float], weights: NDArray[np.float64]) -> Spread:
    """The weighted mean and standard deviation."""
    if min(values) == max(values):
        return Spread(values[0], 0.0)
    share = weights / weights.sum()
    mean = float(np.dot(share, values))
    return Spread(mean, float(np.sqrt(max(0.0, np.dot(share, (np.asarray(values) - mean) ** 2)))))
