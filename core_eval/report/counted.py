"""Which episodes enter statistics, and which of them are the same try."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core_eval.log import EpisodeRow
from core_eval.path.intervals import Key

COUNTED = frozenset({"completed", "stopped"})
"""Only these enter the statistics: the others ended by no doing of the agent's."""


def counted(episodes: Iterable[EpisodeRow]) -> list[EpisodeRow]:
    """The episodes that enter the statistics."""
    return [episode for episode in episodes if episode.status in COUNTED]


def keys(episodes: Iterable[EpisodeRow]) -> list[Key]:
    """By what intervals draw: tasks, then tries, of which identical episodes are one."""
    return [(episode.task, episode.fingerprint) for episode in episodes]


def distinct_episodes(episodes: Sequence[EpisodeRow]) -> int:
    """How many episodes there are, identical ones counted once."""
    known = {episode.fingerprint for episode in episodes} - {None}
    return len(known) + sum(episode.fingerprint is None for episode in episodes)
