"""Selects the episodes that enter statistics, and identifies equal tries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core_eval.log import EpisodeRow
from core_eval.path.intervals import Key

COUNTED = frozenset({"completed", "stopped"})
"""Only these enter the statistics: the others did not end because of the agent."""


def counted(episodes: Iterable[EpisodeRow]) -> list[EpisodeRow]:
    """Return the episodes that enter the statistics."""
    return [episode for episode in episodes if episode.status in COUNTED]


def keys(episodes: Iterable[EpisodeRow]) -> list[Key]:
    """Return the resampling keys of the episodes: task, then try; identical episodes share a try."""
    return [(episode.task, episode.fingerprint) for episode in episodes]


def distinct_episodes(episodes: Sequence[EpisodeRow]) -> int:
    """Return how many episodes there are, identical ones counted once."""
    known = {episode.fingerprint for episode in episodes} - {None}
    return len(known) + sum(episode.fingerprint is None for episode in episodes)
