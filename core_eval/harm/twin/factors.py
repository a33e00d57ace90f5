"""Weighs the unknowns of a world's independent parts, each on a grid of its own, under every member.

Given a member (flows, slip, faults), a plant's soil tells nothing of another's, or of the battery. So each
part (`sims.factors`) has its own points over its own unknowns, and its own sensors weight them:
p(event) = sum over members of w p(event | member), with the members' weights multiplied by the likelihood of
the part's telemetry, the mean over its points. A member holds one draw of each part's points, for what plays
the whole world: the predictive check and the counterfactuals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from configs.variation import Variation, put
from core_eval.harm.telemetry import by_sensor
from core_eval.harm.twin.likelihood import OUTLIER, chances, robust_terms, unmodelled, weighted
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.member import Track
from core_eval.harm.twin.parameters import Priors, latin_hypercube, share_of
from core_eval.harm.twin.stores import (
    DRAWN,
    DRAWN_AHEAD,
    TAKEN,
    StorePoints,
    StoreRecord,
    StoreSoFar,
    channels_of,
    spans_of,
    stacked,
    weighed_points,
)
from devices.harm import HarmEvent, HarmRule
from devices.sensors import Sample, SampleValue, SensorSpec
from sims.factors import Factor, FactorGrid, GridEvents
from sims.stores import Key, Span, Store, cost_of

POINTS = 256
SHORTEST_S = 1.0
"""Least time in which a part gets what a call brings, s."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FactorPosterior:
    """The posterior of one part.

    Attributes:
        factor: the part.
        log_evidence: the log-likelihood of its telemetry under each member.
        weights: of the points under each member, members by points; each row sums to 1.
        events: by rule and entity, members by points; none where no member brings the part anything.
        start: the initial value of each point.
        hidden: the part's parameters of each point.
        last: the last call that brought it something, by index; None: none did.
        bears_out: at which points an event of another rule, of a member by index, happens; None: at all.
    """

    factor: Factor | Store
    log_evidence: Floats
    weights: Floats
    events: Mapping[Key, GridEvents]
    start: Floats
    hidden: Mapping[str, Floats]
    last: int | None
    bears_out: Callable[[int, HarmEvent], NDArray[np.bool_] | None] = lambda *_: None

    def share_of(self, member: int, event: HarmEvent) -> float:
        """Return the probability that a member's event of another rule happens."""
        happens = self.bears_out(member, event)
        return 1.0 if happens is None else float(self.weights[member] @ happens)

    def shares(self, key: Key) -> Floats:
        """Return the probability of an event of this rule and entity under each member."""
        happens = self.events[key].happens
        shares: Floats = (self.weights * happens).sum(axis=1)
        return shares

    def mean_event(self, key: Key, weights: Floats) -> tuple[float, float, float, float]:
        """Return begin and end, s, severity and exposure of the event, the means where it happens."""
        found = self.events[key]
        share = self.weights * weights[:, None] * found.happens
        begin, end, severity, exposure = (
            float(np.sum(share * np.where(found.happens, part, 0.0)) / share.sum())
            for part in (found.t_start, found.t_end, found.severity, found.exposure)
        )
        return begin, end, severity, exposure

    def effective(self, weights: Floats) -> float:
        """Return the effective number of points, given the members' weights."""
        return float(1.0 / np.sum((weights @ self.weights) ** 2))

    def draw(self, member: int, rng: np.random.Generator) -> int:
        """Return a point of a member, drawn by its weight."""
        return int(rng.choice(len(self.start), p=self.weights[member]))

    def overrides(self, point: int, start: dict[str, Any]) -> None:
        """Put a point's initial value into the overrides of the initial state."""
        if self.factor.start:
            put(start, self.factor.start, float(self.start[point]))


class Factors:
    """The parts of one episode, and the draws of their points."""

    def __init__(
        self,
        parts: Sequence[Factor | Store],
        priors: Priors,
        starts: Mapping[tuple[str, ...], tuple[Any, Variation | None]],
        rng: np.random.Generator,
        points: int = POINTS,
    ) -> None:
        """Draw the points.

        Args:
            parts: the world's.
            priors: of the hidden parameters.
            starts: the told value at the path of each part's start, and how far off it may be.
            rng: for the points.
            points: how many.
        """
        self._parts, self._stores, self._rng = [], [], rng
        each = dict(zip(priors.names, priors.each, strict=True))
        for part in parts:
            if isinstance(part, Store):
                told, variation = starts.get(part.start, (0.0, None))
                many = DRAWN if points == POINTS else DRAWN_AHEAD
                drawn = StorePoints.drawn(part, priors, told, variation, many if part.start else points, rng)
                self._stores.append((part, drawn))
                continue
            scores = latin_hypercube(points, part.columns, rng)
            shares = np.vectorize(share_of, otypes=[float])(scores)
            told, variation = starts[part.start]
            start = np.array([told if variation is None else variation.at(told, one) for one in shares[:, 0]])
            hidden = {
                name: np.array([each[name].value(score) for score in scores[:, column]])
                for column, name in enumerate(part.hidden, 1)
            }
            self._parts.append((part, shares, start.astype(float), hidden))
        of_stores = (channels_of(part) for part in parts if isinstance(part, Store))
        self.channels = frozenset(name for part in parts for name in part.sensors).union(*of_stores)
        self.hidden = frozenset(name for part in parts for name in part.hidden)

    def weighed(
        self, episode: LoggedEpisode, tracks: Sequence[Track], settling: float, discrepancy: float
    ) -> list[FactorPosterior]:
        """Return the posterior of each part, given the members' tracks.

        Args:
            episode: the log.
            tracks: of the members.
            settling: how long the world is followed after the last call, s.
            discrepancy: the probability that a sensor does not follow the model.
        """
        logged = by_sensor(episode.samples)
        found = []
        for part, shares, start, hidden in self._parts:
            specs = {name: tracks[0].specs[name] for name in part.sensors if name in tracks[0].specs}
            samples = {name: logged.get(name, []) for name, spec in specs.items() if spec.period is not None}
            moments = sorted(
                {max(0.0, one.t - specs[name].delay) for name, own in samples.items() for one in own} - {0.0}
            )
            given = _given(part.entity, episode, tracks, settling)
            last = _last(given, len(episode.calls))
            fed = last is not None
            if not fed:
                # All members bring it the same: nothing.
                given = [(begin, end, amounts[:1]) for begin, end, amounts in given]
            run = part.run(start, hidden, shares, given, moments, episode.end + settling)
            shape = len(tracks) if fed else 1, len(start)
            places, terms = {moment: place for place, moment in enumerate(moments)}, np.zeros(shape)
            for name, own in samples.items():
                on, term, before = tracks[0].words[name][1], np.zeros(shape), None
                for sample in own:
                    place = places.get(max(0.0, sample.t - specs[name].delay))
                    if place is not None:
                        term += _said(sample, before, run.quantities[name][place], specs[name], on)
                    before = sample.value
                terms += robust_terms(term, unmodelled(own), discrepancy)
            evidence, weights = weighted(np.broadcast_to(terms, (len(tracks), len(start))))
            events = {(kind, part.entity): one for kind, one in run.events.items()} if fed else {}
            found.append(FactorPosterior(part, evidence, weights, events, start, hidden, last))
        stores = (self._stored(*one, episode, tracks, settling, discrepancy) for one in self._stores)
        return [*found, *stores]

    def _stored(
        self,
        store: Store,
        drawn: StorePoints,
        episode: LoggedEpisode,
        tracks: Sequence[Track],
        settling: float,
        discrepancy: float,
    ) -> FactorPosterior:
        record = StoreRecord(discrepancy=discrepancy)
        record.take(store, episode.calls, episode.samples, episode.end)
        last = _last(_given(store.entity, episode, tracks, 0.0), len(episode.calls))
        if last is None and not any(one.call.may_be_done for one in episode.calls):
            # All members take nothing from it, at the same times.
            tracks = [tracks[0]] * len(tracks)
        points, terms, phases = weighed_points(store, drawn, record, tracks, TAKEN, self._rng)
        if last is None:
            return FactorPosterior(store, *weighted(terms), {}, points.start, points.hidden, last)
        size = points.hidden[store.hidden[0]]
        spans = [spans_of(store, episode.calls, track, episode.end + settling) for track in tracks]
        known = dict(zip(map(id, phases), spans, strict=True))
        each = {id(one): store.harm.events(store, one, known[id(one)], size, episode.end) for one in phases}
        events = {key: stacked([each[id(one)][key] for one in phases]) for key in each[id(phases[0])]}

        def bears_out(member: int, event: HarmEvent) -> NDArray[np.bool_] | None:
            return store.harm.bears_out(store, phases[member], spans[member], size, event)

        return FactorPosterior(store, *weighted(terms), events, points.start, points.hidden, last, bears_out)

    def begin(self, discrepancy: float) -> tuple[list[FactorSoFar], list[StoreSoFar]]:
        """Return each part at the beginning of an episode that goes on, stores apart."""
        return [
            FactorSoFar(part, part.begin(start, hidden, shares), discrepancy)
            for part, shares, start, hidden in self._parts
        ], [StoreSoFar(store, points, discrepancy, self._rng) for store, points in self._stores]


class FactorSoFar:
    """One part in an episode that goes on: all of its points under every member, and their weights.

    Args:
        factor: the part.
        grid: it at device time 0.
        discrepancy: the probability that a sensor does not follow the model.

    Attributes:
        log_evidence: as in `FactorPosterior`; of one member as long as all give it the same, nothing.
        weights: likewise.
    """

    def __init__(self, factor: Factor, grid: FactorGrid, discrepancy: float) -> None:
        self.factor = factor
        self._grid, self._discrepancy, self._is_alike = grid.taken([0]), discrepancy, True
        self._samples: dict[str, list[Sample]] = {}
        self._terms: dict[str, Floats] = {}
        points = next(iter(grid.quantities().values())).shape[1]
        self.log_evidence, self.weights = np.zeros(1), np.full((1, points), 1.0 / points)

    def take(
        self,
        begin: float,
        end: float,
        amounts: Floats,
        samples: Sequence[Sample],
        specs: Mapping[str, SensorSpec],
        words: Mapping[str, tuple[SampleValue, SampleValue]],
    ) -> None:
        """Go on over a call.

        Args:
            begin, end: of the call, device time, s.
            amounts: what each member gives the part in it.
            samples: all that have come since the last one; the part's sensors weight the points.
            specs, words: of the sensors.
        """
        new = {name: own for name, own in by_sensor(samples).items() if name in self.factor.sensors}
        fed = bool(amounts.any())
        if not fed and not new:
            # Nothing tells of it, and it goes on when something does.
            return
        if fed:
            self._spread(len(amounts))
        nothing = np.zeros(len(self.log_evidence))
        flow = amounts / max(end - begin, SHORTEST_S) if fed else nothing
        moments = sorted((one.t - specs[name].delay, name, one) for name, own in new.items() for one in own)
        for t, name, sample in moments:
            self._grid.advance(min(t, begin), nothing)
            self._grid.advance(min(t, end), flow)
            known = self._samples.setdefault(name, [])
            before = known[-1].value if known else None
            if sample.t > 0.0:
                said = _said(sample, before, self._grid.quantities()[name], specs[name], words[name][1])
                self._terms[name] = self._terms.get(name, 0.0) + said
            known.append(sample)
        if fed:
            self._grid.advance(begin, nothing)
            self._grid.advance(max(end, begin + SHORTEST_S), flow)
        if self._terms:
            terms = [
                robust_terms(term, unmodelled(self._samples[name]), self._discrepancy)
                for name, term in self._terms.items()
            ]
            self.log_evidence, self.weights = weighted(np.sum(terms, axis=0))

    def _spread(self, members: int) -> None:
        """Let each member have points of its own, which it gives something."""
        if self._is_alike:
            self._is_alike = False
            self._grid = self._grid.taken([0] * members)
            self._terms = {name: np.repeat(term, members, axis=0) for name, term in self._terms.items()}
            self.log_evidence = np.repeat(self.log_evidence, members)
            self.weights = np.repeat(self.weights, members, axis=0)

    def keep(self, members: Sequence[int]) -> None:
        """Keep only these members, by index."""
        if not self._is_alike:
            self._grid = self._grid.taken(members)
            self._terms = {name: term[members] for name, term in self._terms.items()}
            self.log_evidence, self.weights = self.log_evidence[members], self.weights[members]

    def ahead(self, spans: Sequence[Span], rules: Mapping[str, HarmRule]) -> dict[Key, NDArray[np.bool_]]:
        """Return for each rule where a call does harm, members by points: costs more than without it.

        Args:
            spans: the call, as each member makes it.
            rules: by kind.
        """
        amounts, begin = np.array([one.got[self.factor.entity] for one in spans]), spans[0].begin
        count, span = len(amounts), max(spans[0].end - begin, SHORTEST_S)
        # Of a part that no call has given anything there is no event without this one.
        rows, rest = ([0] * count, []) if self._is_alike else ([*range(count)], [*range(count)])
        grid, flow = self._grid.taken([*rows, *rest]), np.zeros(count + len(rest))
        grid.advance(begin, flow)
        flow[:count] = amounts / span
        grid.advance(begin + span, flow)
        grid.run_out()
        harmful = {}
        for kind, found in grid.events().items():
            key = kind, self.factor.entity
            harmful[key] = found.happens[:count]
            if rest:
                cost = cost_of(rules[kind], found)
                harmful[key] = harmful[key] & (cost[:count] - cost[count:] > found.trifle)
        return harmful


def _said(
    sample: Sample, before: SampleValue | None, quantity: Floats, spec: SensorSpec, on: SampleValue
) -> Floats:
    """Return the log-likelihood of a sample after another, given the quantity at each point."""
    read = quantity + spec.bias + spec.drift * sample.t / 3600.0
    chance = chances(sample.value, before, read.reshape(-1), spec, on).reshape(read.shape)
    said: Floats = np.log((1.0 - OUTLIER) * chance + OUTLIER)
    return said


def _last(given: Sequence[tuple[float, float, Floats]], calls: int) -> int | None:
    """Return the last call that brings a part something, by index; None if none does."""
    getting = [index for index, (_, _, amounts) in enumerate(given) if amounts.any()]
    # What still runs in settling is of a call, too.
    return max((one for one in getting if one < calls), default=calls - 1) if getting else None


def _given(
    entity: str, episode: LoggedEpisode, tracks: Sequence[Track], settling: float
) -> list[tuple[float, float, Floats]]:
    """Return what a part gets in the span of each call, and in settling, from each member."""
    totals = np.array([[one.get(entity, 0.0) for one in track.given] for track in tracks])
    each = np.diff(totals, axis=1, prepend=0.0)
    starts = [*(one.start for one in episode.calls), episode.end]
    ends = [*(one.end for one in episode.calls), episode.end + settling]
    # A lost call that was done has no duration, and reaches into the wait for the next one.
    return [
        (start, max(end, start + SHORTEST_S), amounts)
        for start, end, amounts in zip(starts, ends, each.T, strict=True)
    ]
