"""Draws a supply's level (`sims.stores.Supply`), and the strength of a fault, given what tells of them.

A tank that runs dry ends what the soil gets, so that it cannot be weighed apart from a member's run. But as
long as it holds any, the run is the same whatever it holds. So a member is run with a tank that never runs
dry; the readings then have a likelihood at each level of the start, whose mean is the member's, and whose
weights draw its level. Only where that runs dry it is run again, with it.

What comes through a stuck valve or a clogged nozzle is linear in the fault's strength. Where the times that
refills take tell of a fault, the member's strength is drawn by them, with the inverse of its chance as a
weight (importance sampling), and the member is run again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from configs.fault_priors import FaultPrior
from configs.variation import Variation
from core_eval.call_status import CallStatus
from core_eval.harm.answers import ROUNDING
from core_eval.harm.twin.likelihood import (
    CALL_SHARE,
    ENDED_S,
    MOST_CHANGE,
    OTHER_PART,
    RESULT_SHARE,
    robust_terms,
    weighted,
)
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.member import Track
from core_eval.harm.twin.stores import QUANTILES, StoreRecord, channels_of
from sims.stores import Phase, Supply

LEVELS, COARSE, STRENGTHS = 4096, 64, 512
"""Levels at the start; the same, and strengths, where both are unknown."""
LIKELY = 2.0
"""A fault explains the refills if its log-evidence falls short of that of none by less."""
LEFT = 0.01
"""Content, as a share of a full store's, below which it may run dry."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Levels:
    """Equally likely levels at the start."""

    start: Floats
    hidden: Mapping[str, Floats]


class SupplyRecord:
    """What an episode tells of a supply."""

    def __init__(
        self, supply: Supply, episode: LoggedEpisode, told: Any, off: Variation | None, discrepancy: float
    ) -> None:
        """Draw the levels; `off`: how far off the told one may be."""
        start = np.array([float(told)])
        if off is not None:
            known, shares = ((np.arange(count) + 0.5) / count for count in (QUANTILES, LEVELS))
            start = np.interp(shares, known, [off.at(told, float(share)) for share in known])
        self._levels = Levels(start, {})
        self._supply, self._episode = supply, episode
        self._record = StoreRecord(discrepancy=discrepancy)
        self._record.take(supply.store, episode.calls, episode.samples, episode.end)
        tool = supply.store.filled[0] if supply.store.filled else None
        self._fills = [
            index
            for index, one in enumerate(episode.calls)
            if one.call.tool == tool and one.call.status == CallStatus.OK and one.call.answered
        ]
        self.channels = channels_of(supply.store) | {f"{supply.books[0]} results"}
        self.path, self._told = supply.store.start, float(told)

    def strength(
        self, track: Track, fault: Mapping[str, Any], prior: FaultPrior, rng: np.random.Generator
    ) -> tuple[float, float] | None:
        """Return a strength by the times of the refills, and the logarithm of prior over proposal.

        None where they do not tell of the fault.

        Args:
            track: of a run with this fault, whose supply never ran out.
            fault: as in the world's schedule.
            prior: of its strength.
            rng: for the draw.
        """
        sway = self._supply.sway.get(fault["kind"])
        low, high = prior.strength
        if sway is None or not self._fills or high <= low:
            return None
        strengths = low + (high - low) * (np.arange(STRENGTHS) + rng.random()) / STRENGTHS
        own, none = (float(sway(np.array(one))) for one in (fault["strength"], 0.0))
        fitted = self.refills(track, np.append(sway(strengths), none) / own)
        evidence = float(np.logaddexp.reduce(fitted[:-1]) - np.log(STRENGTHS))
        if np.ptp(fitted) == 0.0 or evidence < fitted[-1] - LIKELY:
            return None
        chosen = int(rng.choice(STRENGTHS, p=np.exp(fitted[:-1] - np.logaddexp.reduce(fitted[:-1]))))
        return float(strengths[chosen]), float(evidence - fitted[chosen])

    def refills(self, track: Track, sways: Floats) -> Floats:
        """Return the log-evidence of all refills where what the fault sways is so many times as much."""
        store, supply = self._supply.store, self._supply
        assert store.filled is not None
        level = self.levels[:: max(1, len(self.levels) // COARSE), None]
        terms, since = np.zeros((len(level), len(sways))), dict.fromkeys((supply.amount, supply.swayed), 0.0)
        for index in self._fills:
            before = track.given[index - 1] if index else since
            taken, swayed = (before[name] - since[name] for name in since)
            level = np.clip(level - (taken - swayed) - swayed * sways, 0.0, store.full)
            own = self._episode.calls[index].call.duration
            cost = np.abs((store.full - level) / store.filled[1] - own) / (ENDED_S + CALL_SHARE * own)
            terms -= MOST_CHANGE * np.log1p(cost / MOST_CHANGE)
            level, since = np.full((1, 1), store.full), {name: track.given[index][name] for name in since}
        terms = robust_terms(terms, 0.0, self._record.discrepancy)
        evidence: Floats = np.logaddexp.reduce(terms, axis=0) - np.log(len(terms))
        return evidence

    @property
    def levels(self) -> Floats:
        """The levels at the start, equally likely."""
        return self._levels.start

    def terms(self, track: Track) -> tuple[Floats, list[Phase]]:
        """Return the log-likelihood of each level, given a run whose supply never ran out; what follows."""
        terms, phases = self._record.terms(self._supply.store, self._levels, track)
        return terms + robust_terms(self._booked(track), 0.0, self._record.discrepancy), phases

    def _booked(self, track: Track) -> Floats:
        """Return the log-likelihood of what the rig's own account tells, at each level."""
        (tool, part), terms = self._supply.books, np.zeros(len(self.levels))
        calls = self._episode.calls[: self._fills[0] if self._fills else None]
        for one, answer in zip(calls, track.answers, strict=False):
            said, reading = (one.result or {}).get(part), answer.result.get(part)
            if one.call.tool == tool and said is not None and reading is not None:
                booked = np.maximum(0.0, reading[0] + self.levels - self._told)
                finest = reading[1] + RESULT_SHARE * np.maximum(abs(said), booked) + ROUNDING
                terms -= OTHER_PART * (np.abs(said - booked) > finest)
        return terms

    def level(self, track: Track, rng: np.random.Generator) -> tuple[float, float, bool]:
        """Return the log-evidence of all that tells of it, a level, and whether it may run dry from there."""
        terms, phases = self.terms(track)
        evidence, weights = weighted(terms[None])
        chosen = int(rng.choice(len(terms), p=weights[0]))
        lowest = [phase.base + phase.slope * phase.amounts[-1] for phase in phases if not phase.fills]
        least = min(one[chosen] for one in lowest)
        return (
            float(evidence[0]),
            float(self.levels[chosen]),
            bool(least < LEFT * self._supply.store.full),
        )
