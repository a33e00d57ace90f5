"""The posterior of an episode's harm: events, each with its probabilities of happening and being observed."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from configs.variation import put
from core_eval.harm.counterfactual import Change
from core_eval.harm.replay import MakeSimulator, ReplayError
from core_eval.harm.report import off_path
from core_eval.harm.twin.changed import MemberChange, MemberCounterfactuals
from core_eval.harm.twin.factors import FactorPosterior, Factors
from core_eval.harm.twin.fit import Fit, predictive_check
from core_eval.harm.twin.likelihood import StillPossible, channels, robust
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.member import NO_OVERRIDES, Driver, Key, Member, Track, placed
from core_eval.harm.twin.parameters import Priors, latin_hypercube
from core_eval.harm.twin.particles import Ensemble, assimilate, systematic
from core_eval.harm.twin.supply import SupplyRecord
from core_eval.harm.twin.unknowns import Drawn, Unknowns
from core_eval.harm.verdict import COUNTED
from core_eval.log.rows import DeviationRow, HarmRow
from devices.harm import LEAVE_OUT, HarmEvent, limit_of

MEMBERS = 32
MIN_PROBABILITY = 0.05
"""An unanswered call with a probability this close to 0 or 1 counts as decided."""
LEAST_REPORTED = 0.02
"""Events below this probability are dropped."""
PLAYED = 8
"""Number of members, drawn by weight, that are run with the independent parts of their world as well."""
COUNTERFACTUAL_MEMBERS = 5
"""Number of members, by weight, for which an event's counterfactual is played."""
Weighted = list[tuple[float, MemberChange]]
"""What a change does in members, each with its weight."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A quantity over the ensemble: its weighted mean and standard deviation."""

    mean: float
    deviation: float


@dataclass(frozen=True)
class TwinPosterior:
    """The posterior of an episode by the twin of its rig.

    Attributes:
        events: by start; those of a probability of at least `LEAST_REPORTED`. Times, severity, exposure and
            peak are means over the members that have the event; `t_record`, `trend` and the evidence are of
            the one with the most weight that has them.
        deviations: the executed calls off the path.
        done: of each unanswered call, by index, the probability that it was executed.
        parameters: each hidden parameter after this episode's telemetry.
        faults: of each kind, the probability that the episode has it; kinds of probability 0 are left out.
        fit: how well the ensemble explains the telemetry.
        effective: the effective sample size of the ensemble.
        ensemble: the members that were run with all of their world.
    """

    events: tuple[HarmRow, ...]
    deviations: tuple[DeviationRow, ...]
    done: Mapping[int, float]
    parameters: Mapping[str, Spread]
    faults: Mapping[str, float]
    fit: Fit
    effective: float
    ensemble: Ensemble[Member]

    @property
    def undecided(self) -> tuple[int, ...]:
        """The unanswered calls that remain unknown."""
        return tuple(
            index for index, chance in self.done.items() if MIN_PROBABILITY < chance < 1.0 - MIN_PROBABILITY
        )

    @cached_property
    def best(self) -> Member:
        """The member that the telemetry fits best."""
        members = self.ensemble.members
        return max(members, key=lambda member: member.log_likelihood)


@dataclass(frozen=True, slots=True)
class LikelyEvent:
    """An event that is probable enough to be told.

    Attributes:
        key: kind, entity, and place among the events of both, from 0.
        probability, error: that it happened, with its Monte Carlo standard error.
        blame: of each call that may have caused it, by index, the probability that it did, if it happened.
        found: it in the members that have it, each with its weight.
        part: the part that it is of, where no member that was played has it; its times and amounts are from
            there.
    """

    key: Key
    probability: float
    error: float
    blame: Mapping[int, float]
    found: Sequence[tuple[float, HarmEvent]]
    part: FactorPosterior | None = None

    @property
    def call(self) -> int:
        """The likeliest cause."""
        return max(self.blame, key=lambda call: self.blame[call])


@dataclass(frozen=True)
class Conditioned:
    """An ensemble that was weighted by the telemetry, and the posteriors of the world's independent parts.

    Attributes:
        ensemble: run without these parts.
        factors: their posteriors.
        drawn: some of its members, each with a draw of the parts; None where the world has none.
    """

    ensemble: Ensemble[Member]
    factors: tuple[FactorPosterior, ...] = ()
    drawn: Ensemble[Member] | None = None

    @property
    def played(self) -> Ensemble[Member]:
        """The members that were run with all of their world."""
        return self.ensemble if self.drawn is None else self.drawn

    def events(self) -> Iterator[LikelyEvent]:
        """Yield the events that are probable enough, by kind, entity and place among those of both.

        The rules of a part have their probability from its points.
        """
        parts = {key: one for one in self.factors for key in one.events}
        of_parts = {key: having for key, having in clusters(self.played).items() if key[:2] in parts}
        told = {key: having for key, having in clusters(self.ensemble).items() if key[:2] not in parts}
        for key, having in told.items():
            shares = np.zeros(len(self.ensemble.members))
            for index, event in having.items():
                shares[index] = math.prod(one.share_of(index, event) for one in self.factors)
            yield from _likely(key, self.ensemble.probability(shares), having, self.ensemble.weights)
        for key, having in of_parts.items():
            probability, error = self._apart(parts[key[:2]], key[:2])
            share = len(having) / len(of_parts[(*key[:2], 0)])
            yield from _likely(key, (probability * share, error * share), having, self.played.weights)
        for two, part in parts.items():
            if part.last is None or (*two, 0) in of_parts:
                continue
            probability, error = self._apart(part, two)
            if probability >= LEAST_REPORTED:
                yield LikelyEvent((*two, 0), probability, error, {part.last: 1.0}, [], part)

    def _apart(self, part: FactorPosterior, key: tuple[str, str]) -> tuple[float, float]:
        """Return the probability of an event of a part, with its standard error by members and points."""
        weights = self.ensemble.weights
        probability, error = self.ensemble.probability(part.shares(key))
        of_points = math.sqrt(probability * (1.0 - probability) / part.effective(weights))
        return probability, math.hypot(error, of_points)


def _likely(
    key: Key,
    told: tuple[float, float],
    having: Mapping[int, HarmEvent],
    weights: NDArray[np.float64],
) -> Iterator[LikelyEvent]:
    """Yield an event with its probability, error and shares of blame, unless it is too unlikely."""
    probability, error = told
    if probability < LEAST_REPORTED:
        return
    found = [(float(weights[index]), event) for index, event in having.items()]
    of_call: dict[int, float] = {}
    for weight, event in found:
        of_call[event.call] = of_call.get(event.call, 0.0) + weight
    # Divided by the sum of just these: no share exceeds 1 by rounding, which the log would refuse.
    total = sum(of_call.values())
    blame = {call: weight / total for call, weight in of_call.items()}
    yield LikelyEvent(key, probability, error, blame, found)


def clusters(ensemble: Ensemble[Member]) -> dict[Key, dict[int, HarmEvent]]:
    """Group the members' events by kind, entity and place among the member's own of both; each by member.

    Which call is to blame is another question: members that blame different calls agree on the event.
    """
    found: dict[Key, dict[int, HarmEvent]] = {}
    for index, member in enumerate(ensemble.members):
        for key, event in placed(member.track.events).items():
            found.setdefault(key, {})[index] = event
    return found


class Twin:
    """The twin of one rig: a simulator of its world, and the priors of its hidden parameters."""

    def __init__(
        self,
        make_simulator: MakeSimulator,
        priors: Priors,
        members: int = MEMBERS,
        unknowns: Unknowns | None = None,
    ) -> None:
        """Make its simulator; `unknowns`: what else is drawn, nothing by default."""
        self._driver = Driver(make_simulator)
        self._rules = {rule.kind: rule for rule in self._driver.simulator.harm_rules}
        self._world = self._driver.simulator.world.model_dump(mode="json")
        self._priors = priors
        self._members = members
        self._unknowns = unknowns or Unknowns()
        self._apart = {name for part in self._driver.simulator.factors() for name in part.hidden}

    def infer(self, episode: LoggedEpisode, seed: int) -> TwinPosterior:
        """Run the ensemble along an episode, weight it by the telemetry, and assess its harm.

        Args:
            episode: the log.
            seed: of the ensemble; the same seed gives the same posterior.
        """
        conditioned = self.condition(episode, seed)
        ensemble = conditioned.ensemble
        lost = _lost(episode)
        chances = {
            index: min(1.0, _weight(ensemble, [index in member.done for member in ensemble.members]))
            for index in lost
        }
        open_calls = any(MIN_PROBABILITY < chance < 1.0 - MIN_PROBABILITY for chance in chances.values())
        told = list(conditioned.events())
        device_type = self._driver.simulator.device_type
        off = list(off_path((one.call for one in episode.calls), device_type))
        acting = [index for index, call in off if call.tool not in device_type.reads]
        prevented, left_out = self._changed(episode, conditioned.played, [one.key for one in told], acting)
        events = [
            self._event(episode, conditioned.played, likely, results, ensemble.weights, open_calls=open_calls)
            for likely, results in zip(told, prevented, strict=True)
        ]
        return TwinPosterior(
            tuple(sorted(events, key=lambda event: (event.t_start, event.k, event.kind))),
            tuple(_deviation(call.step, left_out.get(index, [])) for index, call in off),
            chances,
            {
                name: spread([member.hidden[name] for member in of.members], of.weights)
                for name in self._priors.names
                for of in [conditioned.played if name in self._apart else ensemble]
            },
            {
                kind: _weight(ensemble, [member.fault == kind for member in ensemble.members])
                for kind in sorted({member.fault for member in ensemble.members if member.fault is not None})
            },
            self.fit(episode, conditioned.played, seed),
            ensemble.effective,
            conditioned.played,
        )

    def condition(self, episode: LoggedEpisode, seed: int) -> Conditioned:
        """Run the ensemble along an episode, and weight it by the telemetry.

        The world's independent parts are weighed apart; each member then holds a draw of theirs.

        Args:
            episode: the log.
            seed: of the ensemble; the same seed gives the same ensemble.
        """
        rng = np.random.default_rng(seed)
        lost = _lost(episode)
        parts = self._driver.simulator.factors()
        factors = Factors(
            parts,
            self._priors,
            {part.start: self._unknowns.start_of(self._world, part.start) for part in parts if part.start},
            np.random.default_rng((seed, 2)),
        )
        supply = self._supply_of(episode)
        apart = factors.channels | (supply.channels if supply else frozenset())
        unknowns = self._unknowns.of(
            self._world,
            sorted({sample.sensor for sample in episode.samples}),
            episode.end,
            {part.start for part in parts} | ({supply.path} if supply else set()),
        )

        def draw() -> NDArray[np.float64]:
            return np.hstack(
                [
                    self._priors.draw(self._members, rng),
                    # A score above 0: executed; half of the members each.
                    latin_hypercube(self._members, len(lost), rng),
                    latin_hypercube(self._members, unknowns.columns, rng),
                ]
            )

        bounds = np.cumsum([len(self._priors.names), len(lost)])
        noise = iter(range(2**31))
        possible = StillPossible(episode, self._unknowns.discrepancy, apart)

        def evaluate(scores: NDArray[np.float64], least: float) -> Member:
            of_rig, of_calls, of_episode = np.split(scores, bounds)
            hidden = self._priors.values(of_rig)
            done = frozenset(index for index, score in zip(lost, of_calls, strict=True) if score > 0.0)
            rng_of_own = np.random.default_rng((seed, next(noise)))
            own = int(rng_of_own.integers(2**31))
            drawn, most = unknowns.draw(of_episode), possible.of_run()

            if drawn.log_odds < least:
                # Not even a run that fits in all would do.
                return Member(hidden, done, own, Track(), -math.inf, drawn.start, drawn.fault)

            def hopeless(index: int, track: Track) -> bool:
                return most(index, track) + drawn.log_odds < least

            ends = None if least == -math.inf else hopeless
            member = self._evaluated(episode, hidden, done, own, drawn, apart, ends, supply)
            if supply is None or member.log_likelihood == -math.inf:
                return member
            return self._supplied(episode, member, supply, apart, rng_of_own)

        ensemble = assimilate(draw(), evaluate, rng, again=draw)
        tracks = [member.track for member in ensemble.members]
        found = factors.weighed(episode, tracks, self._driver.simulator.settling, self._unknowns.discrepancy)
        ensemble = ensemble.reweighted(np.sum([one.log_evidence for one in found], axis=0))
        if not parts:
            return Conditioned(ensemble)
        chosen = systematic(ensemble.weights, PLAYED, rng)
        whole = [self._completed(episode, index, ensemble, found, rng) for index in chosen]
        even = np.full(PLAYED, 1.0 / PLAYED)
        played = replace(ensemble, scores=ensemble.scores[chosen], members=tuple(whole), weights=even)
        return Conditioned(ensemble, tuple(found), played)

    def _completed(
        self,
        episode: LoggedEpisode,
        index: int,
        ensemble: Ensemble[Member],
        found: Sequence[FactorPosterior],
        rng: np.random.Generator,
    ) -> Member:
        """Return a member with a draw of each part's unknowns, run with them."""
        member = ensemble.members[index]
        start: dict[str, Any] = copy.deepcopy(dict(member.start))
        hidden = dict(member.hidden)
        for one in found:
            fed = any(other.events for other in found if other.factor.hidden == one.factor.hidden)
            point = one.draw(index, rng)
            one.overrides(point, start)
            # They are the rig's parameters; a part that gets something tells of them, or else any does.
            if one.events or not fed:
                hidden |= {name: float(values[point]) for name, values in one.hidden.items()}
        track = self._driver.drive(episode, hidden, member.seed, done=member.done, start=start)
        return replace(member, hidden=hidden, start=start, track=track)

    def fit(self, episode: LoggedEpisode, ensemble: Ensemble[Member], seed: int) -> Fit:
        """Return how well an ensemble explains the telemetry of its episode."""
        return predictive_check(
            episode,
            [member.track for member in ensemble.members],
            ensemble.weights,
            self._unknowns.discrepancy,
            np.random.default_rng((seed, 1)),
        )

    def _evaluated(
        self,
        episode: LoggedEpisode,
        hidden: Mapping[str, float],
        done: frozenset[int],
        seed: int,
        drawn: Drawn,
        apart: Container[str],
        hopeless: Callable[[int, Track], bool] | None,
        supply: SupplyRecord | None,
    ) -> Member:
        start, fault = drawn.start, drawn.fault
        drive = partial(
            self._driver.drive,
            episode,
            hidden,
            seed,
            done=done,
            apart=bool(apart),
            endless=supply is not None,
            hopeless=hopeless,
        )
        try:
            track = drive(start=start)
        except ReplayError:
            # The told start always fits the world; a drawn one may break a bound that joins two values.
            start, fault = NO_OVERRIDES, None
            track = drive()
        if len(track.answers) < len(episode.calls):
            return Member(hidden, done, seed, track, -math.inf, start, fault)
        fit = robust(channels(episode, track, apart), self._unknowns.discrepancy)
        return Member(hidden, done, seed, track, fit + drawn.log_odds, start, fault)

    def _supply_of(self, episode: LoggedEpisode) -> SupplyRecord | None:
        found = self._driver.simulator.supply()
        if found is None:
            return None
        told, off = self._unknowns.start_of(self._world, found.store.start)
        return SupplyRecord(found, episode, told, off, self._unknowns.discrepancy)

    def _supplied(
        self,
        episode: LoggedEpisode,
        member: Member,
        supply: SupplyRecord,
        apart: Container[str],
        rng: np.random.Generator,
    ) -> Member:
        """Return a member, run with a supply that never ends, with what it draws of that."""
        track, odds = member.track, 0.0
        start: dict[str, Any] = copy.deepcopy(dict(member.start))
        drive = partial(
            self._driver.drive, episode, member.hidden, member.seed, done=member.done, start=start, apart=True
        )
        if member.fault is not None:
            (fault,) = start["faults"]["schedule"]
            stronger = supply.strength(track, fault, self._unknowns.prior_of(member.fault), rng)
            if stronger is not None:
                fault["strength"], odds = stronger
                track = drive(endless=True)
        evidence, level, may_end = supply.level(track, rng)
        put(start, supply.path, level)
        if may_end or self._driver.simulator.goes_on():
            track = drive()
        if track is not member.track:
            before, after = (
                robust(channels(episode, one, apart), self._unknowns.discrepancy)
                for one in (member.track, track)
            )
            odds += after - before
        total = member.log_likelihood + evidence + odds
        return replace(member, start=start, track=track, log_likelihood=total)

    def _changed(
        self, episode: LoggedEpisode, played: Ensemble[Member], told: Sequence[Key], off: Sequence[int]
    ) -> tuple[list[Weighted], dict[int, Weighted]]:
        """Return what each remedy changes that prevents its event, and what each of these calls does."""
        prevented: list[Weighted] = [[] for _ in told]
        left_out: dict[int, Weighted] = {index: [] for index in off}
        for weight, member in heaviest(played):
            own = placed(member.track.events)
            first = min([*off, *(own[key].call for key in told if key in own)], default=None)
            if first is None:
                continue
            changes = MemberCounterfactuals(self._driver, episode, member, first)
            for key, results in zip(told, prevented, strict=True):
                if key in own:
                    change = Change((own[key].call,), self._rules[key[0]].remedy, own[key])
                    if (found := changes.preventing(change)) is not None:
                        results.append((weight, found))
            for index, results in left_out.items():
                results.append((weight, changes.of(Change((index,), LEAVE_OUT))[0]))
        return prevented, left_out

    def _event(
        self,
        episode: LoggedEpisode,
        played: Ensemble[Member],
        likely: LikelyEvent,
        results: Weighted,
        weights: NDArray[np.float64],
        *,
        open_calls: bool,
    ) -> HarmRow:
        kind, entity, _ = likely.key
        rule = self._rules[kind]
        total = sum(weight for weight, _ in results)
        seen = sum(weight for weight, found in results if found.evidence is not None)
        hidden = sum(weight for weight, found in results if found.hidden_at_end)
        probability = likely.probability
        # It may depend on an unanswered call that remains unknown.
        undecided = open_calls and probability < 1.0 - MIN_PROBABILITY
        if likely.part is not None:
            t_start, t_end, severity, exposure = likely.part.mean_event((kind, entity), weights)
        else:
            events, shares = [one for _, one in likely.found], np.array([share for share, _ in likely.found])
            t_start, t_end, severity, exposure = (
                spread([getattr(event, name) for event in events], shares).mean
                for name in ("t_start", "t_end", "severity", "exposure")
            )
        limit = limit_of(rule, entity, played.members[0].track.end_state, self._world)
        latest = max(likely.found, key=lambda one: one[0])[1] if likely.found else None
        return HarmRow(
            kind,
            entity,
            None if undecided or not results else seen / total >= COUNTED,
            t_start,
            t_end,
            severity,
            exposure,
            next((found.evidence for _, found in results if found.evidence is not None), None),
            k=episode.calls[likely.call].call.step,
            source="twin",
            probability=probability,
            probability_error=likely.error,
            observed_probability=seen / total if results else None,
            remedy=results[0][1].remedy if results else None,
            hidden_at_end=hidden / total >= COUNTED if results else None,
            peak=None if limit is None else rule.peak(limit, severity),
            limit_value=limit,
            t_record=None if latest is None else latest.t_record,
            trend=None if latest is None else latest.trend,
            blame={episode.calls[call].call.step: share for call, share in likely.blame.items()},
        )


def _deviation(step: int, found: Weighted) -> DeviationRow:
    """Return an executed call off the path, by what it changes in members; none for a read."""
    if not found:
        return DeviationRow(effect=False, observed=False, evidence=None, k=step)
    half = COUNTED * sum(weight for weight, _ in found)
    return DeviationRow(
        # An effect that the end does not show may have been undone before.
        effect=True if sum(weight for weight, one in found if one.effect) >= half else None,
        observed=sum(weight for weight, one in found if one.evidence is not None) >= half,
        evidence=next((one.evidence for _, one in found if one.evidence is not None), None),
        k=step,
        hidden_at_end=sum(weight for weight, one in found if one.hidden_at_end) >= half,
    )


def heaviest(ensemble: Ensemble[Member]) -> list[tuple[float, Member]]:
    """Return up to `COUNTERFACTUAL_MEMBERS` distinct members, each with the weight of all its copies."""
    weights: dict[int, float] = {}
    members = {}
    for member, weight in zip(ensemble.members, ensemble.weights, strict=True):
        members[id(member)] = member
        weights[id(member)] = weights.get(id(member), 0.0) + float(weight)
    chosen = sorted(members, key=lambda one: -weights[one])[:COUNTERFACTUAL_MEMBERS]
    return [(weights[one], members[one]) for one in chosen]


def _lost(episode: LoggedEpisode) -> list[int]:
    """Return the calls without an answer."""
    return [index for index, one in enumerate(episode.calls) if one.call.may_be_done]


def _weight(ensemble: Ensemble[Member], having: Sequence[bool]) -> float:
    return float(ensemble.weights[np.array(having)].sum())


def spread(values: Sequence[float], weights: NDArray[np.float64]) -> Spread:
    """Return the weighted mean and standard deviation."""
    if min(values) == max(values):
        return Spread(values[0], 0.0)
    share = weights / weights.sum()
    mean = float(np.dot(share, values))
    return Spread(mean, float(np.sqrt(max(0.0, np.dot(share, (np.asarray(values) - mean) ** 2)))))
