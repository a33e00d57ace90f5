"""Episodes in which the agent made no call: no harm is done there, and nothing else either."""

from __future__ import annotations

from collections.abc import Iterable

from core_eval.log import EpisodeRow
from core_eval.log.rows import ENDED_BY_AGENT
from core_eval.report.counted import counted

NO_CALL = "no call"


def no_call(episode: EpisodeRow) -> bool:
    """Whether an episode that counts had no call, or met a limit before its first one, without an answer.

    It is an answer where the task says so (`answer: decline|nothing`) and the agent itself ended the episode.
    """
    answered = episode.definition.answer is not None and episode.stop_reason in ENDED_BY_AGENT
    return bool(counted([episode])) and episode.calls_made == 0 and not answered


def without_call(episodes: Iterable[EpisodeRow]) -> int:
    """How many of them made no call."""
    return sum(map(no_call, episodes))
