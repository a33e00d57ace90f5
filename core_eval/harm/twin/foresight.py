"""The twin of an episode that goes on: with what probability the next call would do harm.

Its members go on with the record call by call; none is run from the start again. Before a call each one
makes it, and is put back. Their weights are those of `particles` without resampling: the likelihood of all
telemetry so far, by the same channels. The world's independent parts are weighed apart, as in `factors`.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from configs.twin_config import TwinConfig
from configs.worlds_loader import make_simulator
from core_eval.harm.replay import MakeSimulator, ReplayError
from core_eval.harm.twin.factors import Factors, FactorSoFar
from core_eval.harm.twin.likelihood import ChannelsSoFar, astray, robust
from core_eval.harm.twin.logged_episode import LoggedCall, nominal_world, not_assessed
from core_eval.harm.twin.member import NO_OVERRIDES, Driver, Track
from core_eval.harm.twin.parameters import Priors, latin_hypercube
from core_eval.harm.twin.particles import effective_number, probability_of, weights_of
from core_eval.harm.twin.posterior import LEAST_REPORTED
from core_eval.harm.twin.stores import StoreSoFar
from core_eval.harm.twin.unknowns import Unknowns
from core_eval.log import EpisodeRow
from devices.sensors import Sample
from devices.tool import Effect
from sims.stores import Span

MEMBERS = 12
"""Default size of the ensemble: it is run twice a call."""
LEAST_WEIGHT = 1e-4
"""A member of less weight is given up: later telemetry would hardly bring it back."""
POINTS = 64
"""Points of each independent part."""
EXPECTED_S = 600.0
"""Length of an episode that is not known yet, s: faults that come later begin within it."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a twin says of the next call.

    Attributes:
        probability, error: that it would do any harm that is assessed, with the Monte Carlo standard error.
        events: kind and entity of each harm, with its probability, the likeliest first.
        not_assessed: the rules of whose input it knows nothing; the probability leaves them out.
    """

    probability: float
    error: float
    events: tuple[tuple[str, str, float], ...] = ()
    not_assessed: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Name the likeliest harm, and the rules that are not assessed; empty with nothing worth telling."""
        harm = "; ".join(f"{kind} {entity} {share:.2f}" for kind, entity, share in self.events[:3])
        told = []
        if self.probability >= LEAST_REPORTED:
            told.append(f"harm with probability {self.probability:.2f} +- {self.error:.2f}: {harm}")
        if self.not_assessed:
            told.append(f"not assessed: {', '.join(self.not_assessed)}")
        return "; ".join(told)


HARMLESS = Foreseen(0.0, 0.0)


@dataclass(slots=True)
class _Member:
    driver: Driver
    track: Track
    channels: ChannelsSoFar
    log_odds: float

    @property
    def given(self) -> Mapping[str, float]:
        """What the world's independent parts have got by the end of the latest call."""
        return self.track.given[-1] if self.track.given else {}


class Foresight:
    """The twin of one episode that goes on."""

    def __init__(
        self,
        make: MakeSimulator,
        priors: Priors,
        unknowns: Unknowns,
        seed: int,
        members: int = MEMBERS,
        ruled_out: Container[str] = (),
    ) -> None:
        """Draw the members, and begin the episode with each.

        Args:
            make: a new simulator of the rig's world.
            priors: of the hidden parameters.
            unknowns: what else is drawn.
            seed: of the draws.
            members: size of the ensemble.
            ruled_out: the kinds of harm that cannot happen there, or of whose input all is told.
        """
        rng = np.random.default_rng(seed)
        simulator = make()
        self._rules = {rule.kind: rule for rule in simulator.harm_rules}
        self._reads = {tool.name for tool in simulator.device_type.tools if tool.effect is Effect.READ}
        self._world = simulator.world.model_dump(mode="json")
        self._discrepancy, self._ruled_out = unknowns.discrepancy, ruled_out
        parts = simulator.factors()
        starts = {part.start: unknowns.start_of(self._world, part.start) for part in parts if part.start}
        factors = Factors(parts, priors, starts, rng, POINTS)
        self._grids, self._stores = factors.begin(unknowns.discrepancy)
        self._parts: list[FactorSoFar | StoreSoFar] = [*self._grids, *self._stores]
        apart = factors.channels
        episode = unknowns.of(self._world, sorted(simulator.sensor_specs), EXPECTED_S, set(starts))
        of_rig, of_episode = priors.draw(members, rng), latin_hypercube(members, episode.columns, rng)
        self._members = []
        for hidden, drawn in zip(of_rig, map(episode.draw, of_episode), strict=True):
            driver, own = Driver(make), int(rng.integers(2**31))
            try:
                track = driver.begin(priors.values(hidden), own, drawn.start, apart=bool(parts))
            except ReplayError:
                # The told start always fits the world; a drawn one may break a bound that joins two values.
                track = driver.begin(priors.values(hidden), own, NO_OVERRIDES, apart=bool(parts))
            channels = ChannelsSoFar(track, apart)
            self._members.append(_Member(driver, track, channels, drawn.log_odds))
        self._weights = self._weighted()
        self._calls = 0
        self._now = 0.0

    @classmethod
    def of_episode(cls, twin: TwinConfig, row: EpisodeRow, seed: int) -> Foresight:
        """Return the foresight at the begin of a logged episode.

        Raises:
            ConfigError: the twin's world does not fit the episode.
        """
        world = nominal_world(twin, row)
        priors, unknowns = Priors.of_twin(world.state, twin), Unknowns.of_twin(twin)
        # The log of a rig that tells its truth tells of people, too.
        told = twin.ruled_out if row.twin else {rule.kind for rule in world.type.harm_rules}
        return cls(lambda: make_simulator(world), priors, unknowns, seed, twin.guard.members, told)

    def ahead(self, tool: str, arguments: Mapping[str, Any]) -> Foreseen:
        """Return what the next call would do; the members are as before."""
        if tool in self._reads:
            return HARMLESS
        events: dict[tuple[str, str], NDArray[np.float64]] = {}
        found = [member.driver.ahead(tool, arguments) for member in self._members]
        count = len(found)
        safe = np.ones(count)
        end = self._now + float(np.mean([one.took for one in found]))
        spans = [
            Span(self._now, end, {name: now - member.given.get(name, 0.0) for name, now in one.given.items()})
            for member, one in zip(self._members, found, strict=True)
        ]
        for part in self._parts:
            if not any(one.got[part.factor.entity] for one in spans):
                continue
            harmful = part.ahead(spans, self._rules)
            for key, happens in harmful.items():
                events[key] = (part.weights * happens).sum(axis=1)
            any_of_them = np.any(list(harmful.values()), axis=0)
            safe *= 1.0 - (part.weights * any_of_them).sum(axis=1)
        apart = {*events}
        for index, one in enumerate(found):
            latest = {(event.kind, event.entity): event for event in one.events if event.call == self._calls}
            for key in sorted(latest.keys() - apart):
                share = math.prod(store.share_of(index, spans[index], latest[key]) for store in self._stores)
                events.setdefault(key, np.zeros(count))[index] = share
                safe[index] *= 1.0 - share
        probability, error = probability_of(1.0 - safe, self._weights)
        harm = [(*key, float(self._weights @ shares)) for key, shares in events.items() if shares.any()]
        by_chance = tuple(sorted(harm, key=lambda one: -one[2]))
        return Foreseen(probability, error, by_chance, self._not_assessed())

    def _not_assessed(self) -> tuple[str, ...]:
        best = self._members[int(np.argmax(self._weights))]
        rules = [rule for rule in self._rules.values() if rule.inputs and rule.kind not in self._ruled_out]
        return not_assessed(rules, self._world, (), astray(best.channels.found()) if rules else ())

    def take(self, call: LoggedCall, samples: Sequence[Sample]) -> None:
        """Go on over a call that reached the rig, and weight the members by its telemetry.

        Args:
            call: as it ended; times count from the start of the episode.
            samples: all that have come since the last call.
        """
        end, before = call.end, [member.given for member in self._members]
        for index, member in enumerate(self._members):
            # Of a call without an answer half of the members take it as executed.
            lost = call.call.may_be_done and (index + self._calls) % 2 == 0
            member.driver.follow(call, lost=lost)
            member.channels.take([call], samples, end)
        track, now = self._members[0].track, [member.given for member in self._members]
        for grid in self._grids:
            grid.take(call.start, end, _got(grid, before, now), samples, track.specs, track.words)
        tracks = [member.track for member in self._members]
        for store in self._stores:
            store.take(call, _got(store, before, now), samples, tracks)
        self._calls, self._now = self._calls + 1, end
        self._weights = self._weighted()
        kept = [int(index) for index in np.flatnonzero(self._weights >= LEAST_WEIGHT)]
        if len(kept) < len(self._members):
            self._members = [self._members[index] for index in kept]
            for part in self._parts:
                part.keep(kept)
            self._weights = self._weighted()

    @property
    def effective(self) -> float:
        """The effective number of members."""
        return effective_number(self._weights)

    def _weighted(self) -> NDArray[np.float64]:
        fits = np.array(
            [robust(one.channels.found(), self._discrepancy) + one.log_odds for one in self._members]
        )
        return weights_of(fits + sum(part.log_evidence for part in self._parts))


def _got(
    part: FactorSoFar | StoreSoFar,
    before: Sequence[Mapping[str, float]],
    after: Sequence[Mapping[str, float]],
) -> NDArray[np.float64]:
    """Return what a part gets from each member in between."""
    name = part.factor.entity
    return np.array([b.get(name, 0.0) - a.get(name, 0.0) for a, b in zip(before, after, strict=True)])
