"""How well labelled events of a recording are told from its harmless stretches.

A window of rows from an event's begin is an alternative, a window far from any label a null. Its features are
the mean, least and greatest value of each column. The statistic is Fisher's linear discriminant, its
covariance shrunk towards the diagonal (Schäfer and Strimmer, 2005). The rows are cut into `FOLDS` parts in
their order, and each part is scored by what the others teach. The threshold is a quantile of the null's
scores, so false alarms are as stated.

The harm's own detection statistic (`core_eval.harm.detection`) needs the same course without the event, which
a recording does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.real_data.cobot import LABELS, Recording
from benchmarks.real_data.station import DataError, Floats
from core_eval.harm.detection.roc import FALSE_ALARMS, Roc

BEFORE, AFTER = 1, 4
"""Rows of a window before and from the begin of its event."""
LENGTH = BEFORE + AFTER
GUARD = 5
"""Rows between a null's window and any label."""
FOLDS = 5
LEAST_SPREAD = 1e-6
FEWEST = 20


@dataclass(frozen=True)
class Windows:
    """First rows of the windows, ascending."""

    null: NDArray[np.int64]
    events: NDArray[np.int64]


@dataclass(frozen=True)
class Verdict:
    """Of one kind of event and one set of sensors.

    Attributes:
        area: under the ROC curve.
        detected: share at the false-alarm rate.
        hits: of each event, whether its score is above the threshold.
    """

    area: float
    detected: float
    hits: NDArray[np.bool_]


def windows(recording: Recording, label: str) -> Windows:
    """Find the windows of a label's events, and the null's, which do not overlap.

    A window has no gap in it. An event's begin has the label after a row without it.
    """
    on = recording.labels[label]
    any_label = np.any([recording.labels[name] for name in LABELS], axis=0)
    count = len(on)
    begins = np.flatnonzero(on[1:] & ~on[:-1]) + 1 - BEFORE
    events = [int(row) for row in begins if _whole(recording, int(row), count)]
    null, row = [], 0
    while row + LENGTH <= count:
        near = any_label[max(0, row - GUARD) : row + LENGTH + GUARD].any()
        if near or not _whole(recording, row, count):
            row += 1
        else:
            null.append(row)
            row += LENGTH
    if min(len(null), len(events)) < FEWEST:
        raise DataError(f"{label}: {len(events)} events, {len(null)} harmless windows; {FEWEST} are needed")
    return Windows(np.array(null), np.array(events))


def judge(columns: Floats, chosen: Windows, rate: float = FALSE_ALARMS) -> Verdict:
    """Score each window by the parts that it is not in, and draw the curve."""
    starts = np.concatenate([chosen.null, chosen.events])
    harmful = np.arange(len(starts)) >= len(chosen.null)
    features = _features(columns, starts)
    part = starts * FOLDS // (int(starts.max()) + 1)
    scores = np.zeros(len(starts))
    for fold in range(FOLDS):
        inside = part == fold
        scores[inside] = _scores(features[~inside], harmful[~inside], features[inside])
    roc = Roc.of(scores[~harmful], scores[harmful])
    threshold = np.quantile(scores[~harmful], 1.0 - rate, method="higher")
    return Verdict(_area(roc), roc.at(rate), scores[harmful] > threshold)


def unobserved(verdicts: Mapping[str, Verdict], fine: str) -> dict[str, int]:
    """Return for each set the number of events that it misses and the fine signals show."""
    return {name: int(np.sum(~one.hits & verdicts[fine].hits)) for name, one in verdicts.items()}


def _whole(recording: Recording, row: int, count: int) -> bool:
    end = row + LENGTH - 1
    return row >= 0 and end < count and recording.number[end] - recording.number[row] == LENGTH - 1


def _features(columns: Floats, starts: NDArray[np.int64]) -> Floats:
    stretch = np.stack([columns[starts + offset] for offset in range(LENGTH)])
    return np.column_stack([stretch.mean(axis=0), stretch.min(axis=0), stretch.max(axis=0)])


def _scores(train: Floats, harmful: NDArray[np.bool_], others: Floats) -> Floats:
    """Learn the discriminant, and score."""
    spread = train.std(axis=0)
    kept = spread > LEAST_SPREAD
    centre, spread = train[:, kept].mean(axis=0), spread[kept]
    known = (train[:, kept] - centre) / spread
    means = [known[harmful == side].mean(axis=0) for side in (False, True)]
    residual = known - np.where(harmful[:, None], means[1], means[0])
    covariance = residual.T @ residual / (len(known) - 2)
    weights = np.linalg.solve(_shrunk(covariance, residual), means[1] - means[0])
    return np.asarray((others[:, kept] - centre) / spread @ weights)


def _shrunk(covariance: Floats, residual: Floats) -> Floats:
    """Shrink the entries off the diagonal by the amount that minimises their expected error."""
    count = len(residual)
    squares = residual**2
    variance = (squares.T @ squares / count - covariance**2) / count
    off = ~np.eye(len(covariance), dtype=bool)
    total = float(np.sum(covariance[off] ** 2))
    amount = min(1.0, float(np.sum(variance[off])) / total) if total else 1.0
    shrunk = covariance * np.where(off, 1.0 - amount, 1.0)
    return np.asarray(shrunk + LEAST_SPREAD * np.eye(len(covariance)))


def _area(roc: Roc) -> float:
    x, y = np.array(roc.points).T
    return float(np.trapezoid(y, x))
