"""Repeated episodes: the spread of each metric, and pass^k, JSON-ready."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import gcd
from typing import Any

from core_eval.log import NO_AUTOMATON, EpisodeRow, blameless
from core_eval.score.episodes import (
    ALWAYS,
    counted,
    distinct_episodes,
    disturbed,
    is_inexact,
    keys,
    no_call,
    without_call,
)
from core_eval.score.metrics import BY_NAME, METRICS
from core_eval.statistics.estimates import Estimate, pass_hat_k, summarize

MOST_TRIES = 10
"""pass^k is reported for k from 1 to the number of distinct tries, up to this maximum."""


def spread(episodes: Iterable[EpisodeRow], metric: str) -> Estimate:
    """Return mean, standard error, 95 % interval and quantiles over the episodes that count."""
    rows = counted(episodes, metric)
    return summarize(
        (row.scores.get(metric) for row in rows),
        keys(rows),
        flag=BY_NAME[metric].kind == "flag",
        limits=BY_NAME[metric].limits,
        inexact=sum(is_inexact(row.scores, metric) for row in rows),
    )


def worst_case(episodes: Sequence[EpisodeRow]) -> dict[str, float] | None:
    """Return the means from 0 to 1 if disturbed episodes had gone as badly as can be; None without any."""
    lost = sum(map(disturbed, episodes))
    if not lost:
        return None
    found = {}
    for metric in METRICS:
        if metric.kind in ("share", "flag") and metric.name not in ALWAYS:
            known = [v for row in counted(episodes) if (v := row.scores.get(metric.name)) is not None]
            found[metric.name] = (sum(known) + lost * metric.less_is_better) / (len(known) + lost)
    return found


def passed(episode: EpisodeRow) -> bool | None:
    """Return whether the episode was accepted, not idle, and blameless; None where that is not known."""
    if episode.definition.automaton == NO_AUTOMATON:
        return None
    if not episode.scores.get("accepted") or no_call(episode):
        return False
    return blameless(episode.scores)


def passes(episodes: Iterable[EpisodeRow]) -> Counter[bool | None]:
    """Count the episodes that passed, that did not, and of which it is not known."""
    return Counter(map(passed, episodes))


def pass_k(episodes: Sequence[EpisodeRow]) -> dict[str, float] | None:
    """Return k to pass^k of the tries of each task, averaged over the tasks that were tried so often; of one
    agent.

    A task has as many tries as there are distinct ones. None where the episodes are those of several agents,
    and where it is not known of one whether it passed.
    """
    if len({episode.agent for episode in episodes}) > 1:
        return None
    tasks: dict[str, dict[object, list[bool]]] = {}
    for place, episode in enumerate(counted(episodes)):
        same = episode.fingerprint or place
        if (good := passed(episode)) is None:
            return None
        tasks.setdefault(episode.task, {}).setdefault(same, []).append(good)
    tries = [list(own.values()) for own in tasks.values()]
    most = min(MOST_TRIES, max(map(len, tries), default=0))
    chances = (
        (str(k), pass_hat_k((_successes(own) for own in tries if len(own) >= k), k))
        for k in range(1, most + 1)
    )
    return {k: chance for k, chance in chances if chance is not None}


def _successes(tries: Sequence[Sequence[bool]]) -> tuple[int, int]:
    """Return successes and tries of a task; what was run over again as a whole counts once."""
    times = gcd(*(len(same) for same in tries), *(sum(same) for same in tries))
    return sum(map(sum, tries)) // times, sum(map(len, tries)) // times


def group_json(episodes: Sequence[EpisodeRow]) -> dict[str, Any]:
    """Return the statistics of every metric over some episodes, and their pass^k."""
    results = passes(counted(episodes))
    found = {metric.name: spread(episodes, metric.name) for metric in METRICS}
    return {
        "episodes": len(episodes),
        "distinct": distinct_episodes(counted(episodes)),
        "no_call": without_call(episodes),
        "disturbed": sum(map(disturbed, episodes)),
        "worst_case": worst_case(episodes),
        "passed": results[True],
        "passed_unknown": results[None],
        "pass_k": pass_k(episodes),
        "inexact": {name: one.inexact for name, one in found.items() if one.inexact},
        "statistics": {name: one.as_json() for name, one in found.items()},
    }


def tasks_json(episodes: Sequence[EpisodeRow]) -> list[dict[str, Any]]:
    """Return the statistics of each task with each agent."""
    groups = by_task_and_agent(episodes)
    return [{"task": task, "agent": agent, **group_json(rows)} for (task, agent), rows in groups.items()]


def by_task_and_agent(episodes: Iterable[EpisodeRow]) -> dict[tuple[str, str], list[EpisodeRow]]:
    """Return the episodes of each task with each agent, in the order in which they were first run."""
    groups: dict[tuple[str, str], list[EpisodeRow]] = {}
    for episode in episodes:
        groups.setdefault((episode.task, episode.agent), []).append(episode)
    return groups


def by_agent(episodes: Iterable[EpisodeRow]) -> dict[str, list[EpisodeRow]]:
    """Return the episodes of each agent, in the order in which the agents first acted."""
    groups: dict[str, list[EpisodeRow]] = {}
    for episode in episodes:
        groups.setdefault(episode.agent, []).append(episode)
    return groups
