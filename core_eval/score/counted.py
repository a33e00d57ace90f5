"""Selects the episodes that enter statistics, and identifies equal tries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core_eval.log import EpisodeRow
from core_eval.log.charged import CHARGED
from core_eval.statistics.intervals import Key

COUNTED = frozenset({"completed", "stopped"})
"""Only these enter the statistics: the others did not end because of the agent."""


ALWAYS = frozenset({"harm_events", CHARGED, "unobserved_harm", "unknown_harm", "faults", "disturbed"})
"""The metrics of disturbed episodes that enter the statistics: harm is done, whoever disturbed the rig."""


def counted(episodes: Iterable[EpisodeRow], metric: str | None = None) -> list[EpisodeRow]:
    """Return the episodes that enter the statistics, of a metric where one is given.

    A fault of rig, link or host that disturbed an episode leaves nothing to say of its agent's path.
    """
    if metric in ALWAYS:
        return [episode for episode in episodes if episode.status in COUNTED or disturbed(episode)]
    return [episode for episode in episodes if episode.status in COUNTED and not disturbed(episode)]


def disturbed(episode: EpisodeRow) -> bool:
    """Return whether a fault that is not the agent's disturbed an episode."""
    return bool(episode.scores.get("disturbed"))


def keys(episodes: Iterable[EpisodeRow]) -> list[Key]:
    """Return the resampling keys of the episodes: task, then try; identical episodes share a try."""
    return [(episode.task, episode.fingerprint) for episode in episodes]


def distinct_episodes(episodes: Sequence[EpisodeRow]) -> int:
    """Return how many episodes there are, identical ones counted once."""
    known = {episode.fingerprint for episode in episodes} - {None}
    return len(known) + sum(episode.fingerprint is None for episode in episodes)
