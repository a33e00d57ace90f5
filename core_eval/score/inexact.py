"""Marks scores that are only bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps

from core_eval.log import EpisodeRow
from core_eval.score.metrics import METRICS

MARK = "~"
INEXACT_NOTE = f"{MARK}: a lower bound; the exact score is too costly to compute, and --json has both bounds"
Cell = Callable[[Sequence[EpisodeRow], str], str]


def is_inexact(scores: Mapping[str, float | None], metric: str) -> bool:
    """Return whether an episode's score of that metric is the lower bound of the exact one."""
    return f"{metric}_low" in scores


def count_inexact(episodes: Iterable[EpisodeRow], metric: str) -> int:
    """Return how many episodes have only bounds of that metric."""
    return sum(is_inexact(episode.scores, metric) for episode in episodes)


def inexact_json(episodes: Iterable[EpisodeRow]) -> dict[str, int]:
    """Return how many episodes have only bounds, by metric; exact metrics are left out."""
    rows = list(episodes)
    counts = {metric.name: count_inexact(rows, metric.name) for metric in METRICS}
    return {metric: count for metric, count in counts.items() if count}


def marked(text: str, inexact: int = 1, of: int = 1) -> str:
    """Return a value or a mean, marked where so many of the scores behind it are bounds."""
    if not inexact:
        return text
    return f"{MARK}{text}" if of == 1 else f"{MARK}{text}\n{inexact} inexact"


def marking(cell: Cell) -> Cell:
    """Decorate a table cell's function so that bounds among its scores are marked."""

    @wraps(cell)
    def text(episodes: Sequence[EpisodeRow], metric: str) -> str:
        return marked(cell(episodes, metric), count_inexact(episodes, metric), len(episodes))

    return text
