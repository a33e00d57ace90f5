"""What a twin does not know of an episode beside the hidden parameters: its start, and the rig's faults.

Both are drawn from standard normal scores, as the parameters are. At most one fault is assumed. A third of
the members have one, so that faults are tried even in a small ensemble; the ratio to the prior is part of
a member's weight (importance sampling).
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from configs.fault_priors import FaultPrior, FaultPriors
from configs.twin_config import TwinConfig
from configs.variation import Variation, each_value, put
from configs.worlds_loader import without_none
from core_eval.harm.twin.parameters import share_of
from devices.faults import STUCK_SENSOR

DRAWN_FAULTS = 1.0 / 3.0
"""Share of the members that have a fault."""
FROM_THE_START = 0.5
"""Share of the faults that are there from the start; the others begin at any time of the episode."""
FAULT_COLUMNS = 4


@dataclass(frozen=True, slots=True)
class Drawn:
    """One member's unknowns.

    Attributes:
        start: overrides of the initial state, fault included.
        fault: the kind of its fault; None without one.
        log_odds: the logarithm of prior over proposal.
    """

    start: Mapping[str, Any]
    fault: str | None
    log_odds: float


class Unknowns:
    """The unknowns of one world."""

    @classmethod
    def of_twin(cls, twin: TwinConfig) -> Unknowns:
        """Return what a twin draws beside the hidden parameters."""
        priors = without_none(twin.fault_priors)
        return cls(without_none(twin.spreads), priors, discrepancy=twin.discrepancy)

    def __init__(
        self,
        spreads: Mapping[str, Variation] | None = None,
        faults: FaultPriors | None = None,
        *,
        discrepancy: float = 0.0,
    ) -> None:
        """Keep the priors.

        Args:
            spreads: how far each value of the initial state may be from the told one.
            faults: how likely each kind of fault is.
            discrepancy: the probability that a sensor does not follow the model in an episode.
        """
        self._spreads = dict(spreads or {})
        self._faults: list[tuple[str, FaultPrior]] = sorted((faults or {}).items())
        self.discrepancy = discrepancy

    def prior_of(self, kind: str) -> FaultPrior:
        """Return the prior of a kind of fault."""
        return dict(self._faults)[kind]

    def start_of(self, state: Mapping[str, Any], path: tuple[str, ...]) -> tuple[Any, Variation | None]:
        """Return the told value at a path of the initial state, and how far it may be off, None: not."""
        found = {one: (own, variation) for one, own, variation in each_value(self._spreads, state)}
        if path in found:
            return found[path]
        return reduce(lambda inner, name: inner[name], path, state), None

    def of(
        self,
        state: Mapping[str, Any],
        sensors: Sequence[str],
        end: float,
        apart: Container[tuple[str, ...]] = (),
    ) -> EpisodeUnknowns:
        """Return the unknowns of an episode.

        Args:
            apart: paths of the initial state that are weighed apart (`factors`).
            state: the told initial state.
            sensors: those that the log has samples of; any of them may be stuck.
            end: device time at which the episode ends, s.
        """
        values = [one for one in each_value(self._spreads, state) if one[0] not in apart]
        faults = [(kind, prior) for kind, prior in self._faults if kind != STUCK_SENSOR or sensors]
        return EpisodeUnknowns(values, faults, sorted(sensors), end)


class EpisodeUnknowns:
    """The unknowns of one episode by columns of scores: one a value of the start, and four for the fault."""

    def __init__(
        self,
        values: Sequence[tuple[tuple[str, ...], Any, Variation]],
        faults: Sequence[tuple[str, FaultPrior]],
        sensors: Sequence[str],
        end: float,
    ) -> None:
        self._values = values
        self._faults = faults
        self._sensors = sensors
        self._end = end
        self.columns = len(values) + (FAULT_COLUMNS if faults else 0)

    def draw(self, scores: NDArray[np.float64]) -> Drawn:
        """Return a member's unknowns, given its scores."""
        shares = [share_of(float(score)) for score in scores]
        start: dict[str, Any] = {}
        for (path, own, variation), share in zip(self._values, shares, strict=False):
            put(start, path, variation.at(own, share))
        if not self._faults:
            return Drawn(start, None, 0.0)
        which, strength, onset, entity = shares[len(self._values) :]
        total = sum(prior.probability for _, prior in self._faults)
        if which >= DRAWN_FAULTS:
            return Drawn(start, None, math.log((1.0 - total) / (1.0 - DRAWN_FAULTS)))
        kind, prior = self._chosen(which / DRAWN_FAULTS * total)
        low, high = prior.strength
        fault = {
            "kind": kind,
            "at": max(0.0, (onset - FROM_THE_START) / (1.0 - FROM_THE_START)) * self._end,
            "strength": low + strength * (high - low),
        }
        if kind == STUCK_SENSOR:
            fault["entity"] = self._sensors[_place(entity, len(self._sensors))]
        start["faults"] = {"schedule": [fault]}
        return Drawn(start, kind, math.log(total / DRAWN_FAULTS))

    def _chosen(self, place: float) -> tuple[str, FaultPrior]:
        """Return the fault at a place from 0 to the sum of all probabilities."""
        for kind, prior in self._faults:
            place -= prior.probability
            if place < 0.0:
                return kind, prior
        return self._faults[-1]


def _place(share: float, count: int) -> int:
    return min(count - 1, int(share * count))
