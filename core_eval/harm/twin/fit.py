"""The posterior predictive check of a twin: does the model that it believes explain the telemetry?

Gelman, Meng and Stern, "Posterior predictive assessment of model fitness via realized discrepancies",
Statistica Sinica 6 (1996): telemetry is drawn from the members by their weights, and its log-likelihood under
its own member is compared with that of the logged telemetry.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core_eval.harm.telemetry import by_sensor
from core_eval.harm.twin.likelihood import (
    MOST_CHANGE,
    OTHER_PART,
    OUTLIER,
    Channel,
    chance_of,
    channels,
    compared_parts,
    duration_cost,
    robust_terms,
    width_of,
)
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.member import Track
from core_eval.harm.verdict import BAD_FIT
from devices.sensors import Sample, SampleValue, SensorSpec

REPLICATES = 400

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fit:
    """How well an ensemble explains the telemetry.

    Attributes:
        p_value: the share of replicated telemetry whose log-likelihood is at most that of the logged.
        log_likelihood: of the logged telemetry, the mean over the members.
        expected: the mean of that of the replicates.
        worst: the channel with the lowest p-value of its own; None without telemetry.
        worst_p: that p-value.
    """

    p_value: float
    log_likelihood: float
    expected: float
    worst: str | None
    worst_p: float

    @property
    def bad(self) -> bool:
        """Whether the ensemble does not explain the telemetry."""
        return self.p_value < BAD_FIT


def predictive_check(
    episode: LoggedEpisode,
    tracks: Sequence[Track],
    weights: Floats,
    discrepancy: float,
    rng: np.random.Generator,
) -> Fit:
    """Return the fit of an ensemble to an episode.

    Args:
        episode: the log.
        tracks: of the members; the same track may stand there several times.
        weights: of the members.
        discrepancy: the probability that a channel does not follow the model (`likelihood.robust`).
        rng: for the replicates.
    """
    distinct: dict[int, tuple[Track, float]] = {}
    for track, weight in zip(tracks, weights, strict=True):
        distinct[id(track)] = track, distinct.get(id(track), (track, 0.0))[1] + float(weight)
    logged: dict[str, list[Floats]] = {}
    drawn: dict[str, list[Floats]] = {}
    for track, weight in distinct.values():
        count = round(weight * REPLICATES)
        if not count:
            continue
        for channel, replicates in replicated(episode, track, count, discrepancy, rng):
            logged.setdefault(channel.name, []).append(np.full(count, channel.robust(discrepancy)))
            drawn.setdefault(channel.name, []).append(replicates)
    if not drawn:
        return Fit(1.0, 0.0, 0.0, None, 1.0)
    own = {name: np.concatenate(parts) for name, parts in logged.items()}
    other = {name: np.concatenate(parts) for name, parts in drawn.items()}
    shares = {name: at_most(other[name], own[name]) for name in own}
    worst = min(shares, key=lambda name: shares[name])
    total, expected = _sum(own.values()), _sum(other.values())
    return Fit(at_most(expected, total), float(total.mean()), float(expected.mean()), worst, shares[worst])


def replicated(
    episode: LoggedEpisode, track: Track, count: int, discrepancy: float, rng: np.random.Generator
) -> Iterable[tuple[Channel, Floats]]:
    """Yield each channel with the log-likelihoods of `count` replicates of it, drawn from a member."""
    samples = by_sensor(episode.samples)
    costs: dict[str, int] = {}
    parts: dict[str, int] = {}
    for one, answer, seconds in zip(episode.calls, track.answers, track.durations, strict=True):
        if one.result is not None:
            name = f"{one.call.tool} results"
            parts[name] = parts.get(name, 0) + compared_parts(one.result, answer.result)
        if duration_cost(one, answer, seconds) is not None:
            name = f"{one.call.tool} duration"
            costs[name] = costs.get(name, 0) + 1
    for channel in channels(episode, track):
        if channel.name in samples:
            spec = track.specs[channel.name]
            if spec.period is None:
                terms = _pareto_terms(1, count, rng)
            else:
                sensed = track.sensed.get(channel.name, ([], []))
                on, off = track.words[channel.name][1], track.words[channel.name][0]
                terms = _periodic_terms(samples[channel.name], spec, sensed, (off, on), count, rng)
        elif channel.name in parts:
            differ = 1.0 / (1.0 + math.exp(OTHER_PART))
            terms = -OTHER_PART * rng.binomial(parts[channel.name], differ, count).astype(float)
        else:
            terms = _pareto_terms(costs[channel.name], count, rng)
        yield channel, _with_discrepancy(terms, channel, discrepancy, rng)


def _with_discrepancy(
    terms: Floats, channel: Channel, discrepancy: float, rng: np.random.Generator
) -> Floats:
    """Return the terms under the mixture; the share of `discrepancy` of them does not follow the model."""
    if not discrepancy:
        return terms
    follows = robust_terms(terms, channel.unmodelled, discrepancy)
    beside = math.log(discrepancy) + channel.unmodelled
    return np.where(rng.random(len(terms)) < discrepancy, np.minimum(follows, beside), follows)


def _pareto_terms(number: int, count: int, rng: np.random.Generator) -> Floats:
    """Return the sums of `number` terms of a density (1 + x)^-MOST_CHANGE, whose logarithm is exponential."""
    return -MOST_CHANGE / (MOST_CHANGE - 1.0) * rng.standard_gamma(number, count)


def _periodic_terms(
    samples: Sequence[Sample],
    spec: SensorSpec,
    sensed: tuple[Sequence[float], Sequence[float]],
    words: tuple[SampleValue, SampleValue],
    count: int,
    rng: np.random.Generator,
) -> Floats:
    times, values = sensed
    total = np.zeros(count)
    if not times or (isinstance(samples[0].value, str) and spec.kind not in ("threshold", "switch")):
        return total
    off, on = words
    quantities = np.interp([sample.t for sample in samples], times, values)
    before = np.full(count, samples[0].value == on)
    for sample, quantity in zip(samples, quantities, strict=True):
        if sample.t <= 0.0:
            continue
        q = float(quantity)
        if spec.kind in ("threshold", "switch"):
            above = {word: chance_of(on, on if word else off, q, spec, on) for word in (False, True)}
            chance = np.where(before, above[True], above[False])
            before = rng.random(count) < chance
            said = np.where(before, chance, 1.0 - chance)
        else:
            noisy = q + width_of(q, spec) * rng.standard_normal(count)
            if spec.kind == "quantised" and spec.resolution:
                noisy = np.round(noisy / spec.resolution) * spec.resolution
            said = np.array([chance_of(float(value), None, q, spec, on) for value in noisy])
        total += np.log((1.0 - OUTLIER) * said + OUTLIER)
    return total


def at_most(drawn: Floats, logged: Floats | float) -> float:
    """Return the share of replicates whose log-likelihood is at most the logged one."""
    return float(np.mean(drawn <= logged + 1e-9))


def _sum(parts: Iterable[Floats]) -> Floats:
    total: Floats = np.sum(list(parts), axis=0)
    return total
