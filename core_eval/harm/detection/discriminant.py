"""The log-likelihood ratio of telemetry: harm against none, under a normal model learned from drawn rigs.

Means and a common covariance of the two classes give a linear statistic (Fisher's discriminant). Two things
keep it sound with more columns than rigs:

- The difference of the means is that between the two courses of the same rig, which share its parameters
  and its noise: what harm does not touch differs by exactly nothing.
- The correlations are shrunk towards 0 by the amount that minimises their expected error (Schäfer and
  Strimmer, Stat. Appl. Genet. Mol. Biol. 4:32, 2005).

The statistic need not be the best one. Its threshold is a quantile over other harmless rigs, so the
false-alarm rate holds in any case, and the detection probability is a lower bound of the best test's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from core_eval.harm.detection.telemetry_vector import Matrix

LEAST_SPREAD = 0.02
"""Least standard deviation within the classes, as a share of that over both: rigs deviate from any model."""
MOST_COLUMNS = 400
"""Columns of one group, those that differ most."""
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Sides:
    """The courses of some rigs, by group of columns.

    Attributes:
        null: one row for each harmless course.
        harmful: one row for each rig on which the event happened.
        pairs: the row of `null` that is the same rig as each row of `harmful`.
    """

    null: Mapping[str, Matrix]
    harmful: Mapping[str, Matrix]
    pairs: Sequence[int]


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear statistic; a missing number counts as `usual`."""

    weights: Matrix
    usual: Matrix

    @classmethod
    def fit(cls, null: Matrix, harmful: Matrix, pairs: Sequence[int], finest: Matrix) -> Self:
        """Learn the statistic; the weights are 0 where harm makes no difference.

        Args:
            null, harmful, pairs: as in `Sides`.
            finest: the least difference that counts, of each column.
        """
        with np.errstate(invalid="ignore"):
            usual = np.nan_to_num(np.nanmean(null, axis=0))
        null, harmful = np.where(np.isnan(null), usual, null), np.where(np.isnan(harmful), usual, harmful)
        weights = np.zeros(null.shape[1])
        difference = (harmful - null[list(pairs)]).mean(axis=0)
        within = np.vstack([null - null.mean(axis=0), harmful - harmful.mean(axis=0)])
        overall = np.vstack([null, harmful]).std(axis=0)
        spread = np.sqrt(within.var(axis=0) + (finest / 2.0) ** 2 + (LEAST_SPREAD * overall) ** 2)
        used = np.flatnonzero(spread > 0.0)
        if not len(used) or not difference.any():
            return cls(weights, usual)
        standard = difference[used] / spread[used]
        used = used[np.argsort(-np.abs(standard), kind="stable")[:MOST_COLUMNS]]
        correlations = _shrunk(within[:, used] / spread[used])
        weights[used] = np.linalg.solve(correlations, difference[used] / spread[used]) / spread[used]
        return cls(weights, usual)

    def of(self, rows: Matrix) -> Matrix:
        """Return the statistic of each row."""
        values: Matrix = (np.where(np.isnan(rows), self.usual, rows) - self.usual) @ self.weights
        return values


def _shrunk(rows: Matrix) -> Matrix:
    """Return the correlations of the columns, shrunk towards 0; they have at most unit variance."""
    count = len(rows)
    own = rows.T @ rows / count
    squares = (rows**2).T @ (rows**2) / count
    outside = ~np.eye(len(own), dtype=bool)
    error = float((squares - own**2)[outside].sum()) / max(count - 1, 1)
    signal = float((own**2)[outside].sum())
    share = min(1.0, error / signal) if signal > 0.0 else 1.0
    shrunk: Matrix = (1.0 - share) * own
    np.fill_diagonal(shrunk, np.maximum(1.0, np.diag(own)))
    return shrunk


class LogLikelihoodRatio:
    """The statistic of one event: one part for each group of columns, joined for any choice of groups."""

    def __init__(self, training: Sides, finest: Mapping[str, Matrix]) -> None:
        """Learn it from the training rigs."""
        self._parts = {
            group: Linear.fit(rows, training.harmful[group], training.pairs, finest[group])
            for group, rows in training.null.items()
        }
        self.groups = tuple(sorted(group for group, part in self._parts.items() if part.weights.any()))
        """Those in which harm makes a difference."""
        self._pairs = training.pairs
        self._null, self._harmful = self._cross_fitted(training, finest)

    def parts(self, rows: Mapping[str, Matrix]) -> Matrix:
        """Return the statistic of each row for each of the `groups`."""
        count = len(next(iter(rows.values()), ()))
        if not self.groups or not count:
            return np.zeros((count, len(self.groups)))
        return np.column_stack([self._parts[group].of(rows[group]) for group in self.groups])

    def joined(self, groups: Collection[str]) -> Matrix:
        """Return the weight of each of the `groups` if only these are observed."""
        chosen = [place for place, group in enumerate(self.groups) if group in groups]
        weights = np.zeros(len(self.groups))
        if chosen:
            null, harmful = self._null[:, chosen], self._harmful[:, chosen]
            weights[chosen] = Linear.fit(null, harmful, self._pairs, np.zeros(len(chosen))).weights
        return weights

    def _cross_fitted(self, training: Sides, finest: Mapping[str, Matrix]) -> tuple[Matrix, Matrix]:
        """Return the parts of the training rows, each by statistics learned from other rigs."""
        count = len(next(iter(training.null.values())))
        rigs = np.arange(count) % FOLDS
        paired = rigs[list(training.pairs)]
        null, harmful = np.zeros((count, len(self.groups))), np.zeros((len(paired), len(self.groups)))
        for fold in range(FOLDS):
            kept, own = np.flatnonzero(rigs != fold), rigs == fold
            place = {int(row): index for index, row in enumerate(kept)}
            pairs = [place[row] for row in training.pairs if row in place]
            if not pairs:
                continue
            for column, group in enumerate(self.groups):
                rows, others = training.null[group], training.harmful[group]
                part = Linear.fit(rows[kept], others[paired != fold], pairs, finest[group])
                null[own, column] = part.of(rows[own])
                harmful[paired == fold, column] = part.of(others[paired == fold])
        return null, harmful
