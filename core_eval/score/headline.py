"""What a table of agents is about: tasks that need a call. Declines and restraint have columns of their own,
and baselines stand behind the models that they are a floor for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from agents.names import is_baseline, is_model
from core_eval.log import EpisodeRow
from core_eval.path.endings import Answer
from core_eval.score.episodes import counted

ASIDE: Mapping[str, Answer] = {"declines": "decline", "restraint": "nothing"}
"""The headings of the tasks that need no call, and what such a task asks for."""


def headline(episodes: Sequence[EpisodeRow]) -> list[EpisodeRow]:
    """Return the episodes of tasks that need a call; all of them where none does."""
    return [row for row in episodes if row.definition.answer is None] or list(episodes)


def aside(episodes: Iterable[EpisodeRow]) -> dict[str, list[EpisodeRow]]:
    """Return the episodes that count of tasks that need no call, by the headings of `ASIDE`."""
    tries = counted(episodes)
    return {
        heading: [row for row in tries if row.definition.answer == answer]
        for heading, answer in ASIDE.items()
    }


def baselines_last(agents: Iterable[str]) -> dict[str, bool]:
    """Return for each agent whether it is a baseline beside models, those last.

    Where there is no model, none is set apart.
    """
    names = list(dict.fromkeys(agents))
    models = any(is_model(name) for name in names)
    apart = {name for name in names if models and is_baseline(name)}
    return {name: name in apart for name in sorted(names, key=apart.__contains__)}


def without_baselines(episodes: Iterable[EpisodeRow]) -> list[EpisodeRow]:
    """Return the episodes of the agents that are no baselines beside models."""
    rows = list(episodes)
    apart = baselines_last(row.agent for row in rows)
    return [row for row in rows if not apart[row.agent]]
