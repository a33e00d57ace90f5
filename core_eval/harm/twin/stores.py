"""Weighs the unknowns of a world's stores (`sims.stores`) under every member, in closed form.

A sensor that reports its changes, the results of the tool that tells the level, and the durations of the one
that fills it are the channels of `likelihood`, for all points at once. Readings leave a thin strip of the
prior: from many points those are taken that one member holds likely, each with the inverse of its chance
to be taken as a weight (importance sampling).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from configs.variation import Variation
from core_eval.call_status import CallStatus
from core_eval.harm.answers import ROUNDING
from core_eval.harm.telemetry import by_sensor
from core_eval.harm.twin.likelihood import (
    CALL_SHARE,
    CHANGE_S,
    ENDED_S,
    MOST_CHANGE,
    OTHER_PART,
    RESULT_SHARE,
    robust_terms,
    unmodelled,
    weighted,
)
from core_eval.harm.twin.logged_episode import LoggedCall
from core_eval.harm.twin.member import Track
from core_eval.harm.twin.parameters import Priors
from core_eval.harm.twin.particles import systematic
from devices.harm import HarmEvent
from devices.sensors import Sample, SampleValue
from sims.factors import GridEvents
from sims.stores import Fill, Key, Phase, Span, Store

Floats = NDArray[np.float64]
TAKEN = 1024
"""Points that are weighed under every member."""
DRAWN = 16384
"""Points of which these are taken, if the store has more than one unknown."""
LEVEL_DECIMALS = 1
"""Of what a tool tells of the level."""
RULED_OUT = 6.0
"""Log-likelihood that a point has lost that is ruled out."""
TINY = 1e-12
CAPPINGS = 8
"""Steps to the chances of points of which none is taken twice."""
QUANTILES = 512
"""Of each unknown's distribution; the points are between them."""
DRAWN_AHEAD, TAKEN_AHEAD = 4096, 256
"""The same in an episode that goes on."""


class Points(Protocol):
    """The unknowns of a store: its level at the start, and its parameter, of each point."""

    @property
    def start(self) -> Floats:
        """The level at the start, of each."""

    @property
    def hidden(self) -> Mapping[str, Floats]:
        """The parameter, of each."""


@dataclass(frozen=True)
class StorePoints:
    """Points of a store, and the logarithm of prior over proposal at each.

    Attributes:
        shares: of the distributions of the level at the start and of the parameter, 0 to 1.
        quantiles: of both, at `QUANTILES` even shares.
        name: the parameter.
    """

    shares: Floats
    quantiles: Floats
    name: str
    log_odds: Floats

    @classmethod
    def drawn(
        cls,
        store: Store,
        priors: Priors,
        told: Any,
        off: Variation | None,
        points: int,
        rng: np.random.Generator,
    ) -> StorePoints:
        """Draw points that cover the unknowns evenly; `off`: how far off the told level may be."""
        known = (np.arange(QUANTILES) + 0.5) / QUANTILES
        start = [off.at(told, share) if off is not None else told for share in known]
        prior = next(one for one in priors.each if one.parameter.name == store.hidden[0])
        quantiles = np.array([start, [prior.at_share(share) for share in known]])
        return cls(_lattice(points, rng), quantiles, store.hidden[0], np.zeros(points))

    @property
    def start(self) -> Floats:
        """The level at the start, of each."""
        return self._values(0)

    @property
    def hidden(self) -> Mapping[str, Floats]:
        """The parameter, of each."""
        return {self.name: self._values(1)}

    def _values(self, which: int) -> Floats:
        known = (np.arange(QUANTILES) + 0.5) / QUANTILES
        values: Floats = np.interp(self.shares[which], known, self.quantiles[which])
        return values

    def nearer(self, terms: Floats, rng: np.random.Generator) -> StorePoints:
        """Add as many in the strip of those that are not ruled out by their likelihoods."""
        likely = terms > terms.max() - RULED_OUT
        start, other = self.shares[:, likely]
        lean = float(np.cov(start, other)[0, 1] / max(np.var(other), TINY)) if likely.sum() > 1 else 0.0
        across = np.array([start - lean * other, other])
        low, high = across.min(axis=1, keepdims=True), across.max(axis=1, keepdims=True)
        margin = (high - low) / 2.0 + 0.01
        low, size = low - margin, high - low + 2.0 * margin
        fresh = low + size * _lattice(len(terms), rng)
        fresh[0] += lean * fresh[1]
        fresh = fresh[:, ((fresh > 0.0) & (fresh < 1.0)).all(axis=0)]
        shares = np.hstack([self.shares, fresh])
        across = np.array([shares[0] - lean * shares[1], shares[1]])
        inside = ((across >= low) & (across <= low + size)).all(axis=0)
        return replace(self, shares=shares, log_odds=-np.log1p(inside / np.prod(size)))

    def taken(self, terms: Floats, count: int, rng: np.random.Generator) -> StorePoints:
        """Take some: by the root of their weights, each once at most, and a few evenly."""
        likely = np.exp((terms - terms.max()) / 2.0)
        chance = 0.9 * likely / likely.sum() + 0.1 / len(terms)
        for _ in range(CAPPINGS):
            chance = np.minimum(1.0 / count, chance)
            chance /= chance.sum()
        # Evenly over both unknowns: strip by strip of the parameter, to and fro along the start.
        start, other = self.shares
        strip = np.floor(other * count**0.5)
        order = np.lexsort((np.where(strip % 2.0, -start, start), strip))
        chosen = order[systematic(chance[order], count, rng)]
        log_odds = self.log_odds[chosen] - np.log(chance[chosen] * len(terms))
        return replace(self, shares=self.shares[:, chosen], log_odds=log_odds)


def _lattice(points: int, rng: np.random.Generator) -> Floats:
    """Return points of the unit square, shifted at random: by several times as even as independent ones."""
    place, golden = np.arange(points), (5.0**0.5 - 1.0) / 2.0
    lattice: Floats = (np.stack([place / points, place * golden]) + rng.random((2, 1))) % 1.0
    return lattice


def weighed_points(
    store: Store,
    points: StorePoints,
    record: StoreRecord,
    tracks: Sequence[Track],
    count: int,
    rng: np.random.Generator,
) -> tuple[StorePoints, Floats, list[list[Phase]]]:
    """Return the points taken, their log-weights under each member, and what becomes of them there."""
    if len(points.start) > count:
        points = points.nearer(record.terms(store, points, tracks[0])[0], rng)
        terms = record.terms(store, points, tracks[0])[0] + points.log_odds
        points = points.taken(terms, count, rng)
    known: dict[int, tuple[Floats, list[Phase]]] = {}
    for track in tracks:
        if id(track) not in known:
            known[id(track)] = record.terms(store, points, track)
    terms = np.array([known[id(track)][0] for track in tracks])
    return points, terms + points.log_odds, [known[id(track)][1] for track in tracks]


@dataclass
class StoreRecord:
    """What a log tells of one store.

    Attributes:
        calls, samples: all so far.
        end: device time, s.
        discrepancy: the probability that a channel does not follow the model.
    """

    calls: list[LoggedCall] = field(default_factory=list)
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    end: float = 0.0
    discrepancy: float = 0.0

    def take(self, store: Store, calls: Sequence[LoggedCall], samples: Sequence[Sample], end: float) -> bool:
        """Take what has come; return whether any of it tells of the store."""
        new = {name: own for name, own in by_sensor(samples).items() if name in store.reads}
        for name, own in new.items():
            self.samples.setdefault(name, []).extend(own)
        self.calls += calls
        self.end = end
        return bool(new) or any(_of(store.told, one) or _of(store.filled, one) for one in calls)

    def terms(self, store: Store, points: Points, track: Track) -> tuple[Floats, list[Phase]]:
        """Return the log-likelihood of each point under a member, and what becomes of it there."""
        metered = [(one.t, float(one.value)) for one in track.samples if one.sensor == store.meter]
        fills = [
            Fill(one.start, one.start + took, full=one.call.status != CallStatus.FAULT)
            for one, took in zip(self.calls, track.took, strict=True)
            if _of(store.filled, one) and _acts(one, took)
        ]
        phases = store.phases(points.start, points.hidden, metered, fills, self.end)
        terms = np.zeros(len(points.start))
        for name, own in self.samples.items():
            apart = np.maximum(0.0, self.end - store.agrees(phases, name, _spans(own, self.end)))
            term = -MOST_CHANGE * np.log1p(apart / CHANGE_S / MOST_CHANGE)
            terms += robust_terms(term, unmodelled(own), self.discrepancy)
        results, durations = np.zeros(len(terms)), np.zeros(len(terms))
        for one, answer in zip(self.calls, track.answers, strict=True):
            if store.told is not None and _of(store.told, one):
                said, reading = (one.result or {}).get(store.told[1]), answer.result.get(store.told[1])
                if said is not None and reading is not None:
                    level = np.round(store.level(phases, one.end), LEVEL_DECIMALS)
                    finest = reading[1] + RESULT_SHARE * np.maximum(abs(said), level) + ROUNDING
                    results -= OTHER_PART * (np.abs(said - level) > finest)
            if store.filled is not None and _of(store.filled, one) and answer.seconds is not None:
                seconds = (store.full - store.level(phases, one.start)) / store.filled[1]
                cost = np.abs(seconds - one.call.duration) / (ENDED_S + CALL_SHARE * one.call.duration)
                durations -= MOST_CHANGE * np.log1p(cost / MOST_CHANGE)
        return terms + sum(
            robust_terms(one, 0.0, self.discrepancy) for one in (results, durations) if one.any()
        ), phases


def channels_of(store: Store) -> frozenset[str]:
    """Return the channels that tell of nothing else."""
    told = {f"{store.told[0]} results"} if store.told else set()
    filled = {f"{store.filled[0]} duration"} if store.filled else set()
    return frozenset({*store.sensors, *told, *filled})


def spans_of(store: Store, calls: Sequence[LoggedCall], track: Track, settled: float = 0.0) -> list[Span]:
    """Return what a member gives in each call, and in settling up to a device time, s."""
    spans, before = [], dict.fromkeys(store.harm.meters, 0.0)
    times = [*((one.start, one.end) for one in calls), (calls[-1].end if calls else 0.0, settled)]
    for (begin, end), given in zip(times, track.given, strict=False):
        spans.append(Span(begin, end, {name: given[name] - known for name, known in before.items()}))
        before = {name: given[name] for name in before}
    return spans


def stacked(each: Sequence[GridEvents]) -> GridEvents:
    """Return the events of all members, members by points, given those of each."""
    begin, end, severity, exposure = (
        np.array([getattr(one, name) for one in each])
        for name in ("t_start", "t_end", "severity", "exposure")
    )
    return GridEvents(np.array([one.happens for one in each]), begin, end, severity, exposure, each[0].trifle)


class StoreSoFar:
    """A store in an episode that goes on, as `factors.FactorSoFar`.

    Args:
        factor: the store.
        points: of the prior.
        discrepancy: the probability that a channel does not follow the model.
        rng: for the points that are taken.
    """

    def __init__(
        self, factor: Store, points: StorePoints, discrepancy: float, rng: np.random.Generator
    ) -> None:
        self.factor, self._points, self._rng = factor, points, rng
        self._record = StoreRecord(discrepancy=discrepancy)
        self._taken, self._phases, self._spans = points, list[list[Phase]](), list[list[Span]]()
        self.log_evidence, self.weights = (
            np.zeros(1),
            np.full((1, len(points.start)), 1.0 / len(points.start)),
        )

    def take(
        self, call: LoggedCall, amounts: Floats, samples: Sequence[Sample], tracks: Sequence[Track]
    ) -> None:
        """Go on over a call; `amounts`: what it gave the store in each member, whose records these are."""
        told = self._record.take(self.factor, [call], samples, call.end)
        if told or amounts.any() or not self._phases:
            self._taken, terms, self._phases = weighed_points(
                self.factor, self._points, self._record, tracks, TAKEN_AHEAD, self._rng
            )
            self.log_evidence, self.weights = weighted(terms)
            self._spans = [spans_of(self.factor, self._record.calls, track) for track in tracks]

    def ahead(self, spans: Sequence[Span], _rules: object) -> dict[Key, NDArray[np.bool_]]:
        """Return where a call does harm, members by points, as `factors.FactorSoFar.ahead`."""
        each = [self.factor.harm.ahead(*self._with(index, call)) for index, call in enumerate(spans)]
        return {key: np.array([one[key] for one in each]) for key in each[0]}

    def share_of(self, member: int, call: Span, event: HarmEvent) -> float:
        """Return the probability that an event of another rule happens, which a member has in a call."""
        store, phases, spans, size = self._with(member, call)
        # Calls since the last one that told of the store or used it have no span.
        here = replace(event, call=len(spans) - 1)
        happens = self.factor.harm.bears_out(store, phases, spans, size, here)
        return 1.0 if happens is None else float(self.weights[member if self._phases else 0] @ happens)

    def _with(self, member: int, call: Span) -> tuple[Store, list[Phase], list[Span], Floats]:
        """Return what a member's harm of a call that was not made yet depends on."""
        phases = self._phases[member] if self._phases else [Phase.of(self._taken.start)]
        made = self._spans[member] if self._spans else []
        return self.factor, phases, [*made, call], self._taken.hidden[self.factor.hidden[0]]

    def keep(self, members: Sequence[int]) -> None:
        """Keep only these members, by index."""
        if self._phases:
            self._phases = [self._phases[index] for index in members]
            self._spans = [self._spans[index] for index in members]
            self.log_evidence, self.weights = self.log_evidence[members], self.weights[members]


def _of(tool: Sequence[Any] | None, one: LoggedCall) -> bool:
    return tool is not None and one.call.tool == tool[0]


def _acts(one: LoggedCall, took: float) -> bool:
    """Return whether a member executed a call: one without an answer takes time then."""
    call = one.call
    return call.status == CallStatus.OK or call.partly or (call.may_be_done and took > 0.0)


def _spans(samples: Sequence[Sample], end: float) -> list[tuple[float, float, SampleValue]]:
    """Return what a sensor said, from when to when; the first word holds from the beginning."""
    moments = [0.0, *(one.t for one in samples[1:]), end]
    return [(begin, stop, one.value) for one, begin, stop in zip(samples, moments, moments[1:], strict=False)]
