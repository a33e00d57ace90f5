"""Episodes and their means as JSON-ready mappings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from core_eval.log import EpisodeRow
from core_eval.score.aggregate import Aggregate, load_aggregate
from core_eval.score.comparison import mean_of
from core_eval.score.contrast import comparison_json, comparisons
from core_eval.score.episodes import ALWAYS, counted, no_call
from core_eval.score.metrics import METRICS, json_value
from core_eval.score.outcome import aside, baselines_last, headline, without_baselines
from core_eval.score.repeated import by_agent, group_json, passed, passes, tasks_json

WORST = {
    metric.name: float(metric.less_is_better)
    for metric in METRICS
    if metric.kind in ("share", "flag") and metric.name not in ALWAYS
}
"""The value of an episode without a call in the gated minimum, which uses metrics from 0 to 1."""


def episode_json(episode: EpisodeRow) -> dict[str, Any]:
    """Return one episode with its scores under their names; metrics that were not computed are null."""
    scores = {metric.name: json_value(metric.name, episode.scores.get(metric.name)) for metric in METRICS}
    others = {name: value for name, value in episode.scores.items() if name not in scores}
    return {
        "episode": episode.id,
        "task": episode.task,
        "rig": episode.rig,
        "agent": episode.agent,
        "seed": episode.seed,
        "status": episode.status,
        "stop_reason": episode.stop_reason,
        "stop": episode.stop,
        "error": episode.error,
        "no_call": no_call(episode),
        "passed": passed(episode),
        "left_record": episode.left_record,
        **scores,
        **others,
        "failures": [asdict(failure) for failure in episode.failures],
        "pairs": [asdict(pair) for pair in episode.pairs],
        "scorings": [asdict(scoring) for scoring in episode.scorings],
    }


def mean(episodes: Iterable[EpisodeRow], metric: str) -> float | None:
    """Return the mean over the episodes that count and have the metric."""
    return mean_of(counted(episodes, metric), metric)


def means(episodes: Sequence[EpisodeRow]) -> dict[str, float | None]:
    """Return the mean of every metric."""
    return {metric.name: mean(episodes, metric.name) for metric in METRICS}


def gated_value(aggregate: Aggregate, episodes: Sequence[EpisodeRow]) -> float | None:
    """Return the gated minimum of an agent's means; an episode without a call counts as the worst."""
    rows = [
        replace(row, scores={**row.scores, **WORST}) if no_call(row) else row for row in counted(episodes)
    ]
    return aggregate.value(means(rows))


def front(aggregate: Aggregate, episodes: Sequence[EpisodeRow]) -> list[str]:
    """Return the agents of the Pareto front over tasks that need a call, without baselines beside models."""
    agents = by_agent(without_baselines(headline(episodes)))
    return aggregate.front({agent: means(rows) for agent, rows in agents.items()})


def headline_json(episodes: Sequence[EpisodeRow]) -> dict[str, Any]:
    """Return how an agent did on tasks that need a call, on declines, and on restraint."""
    own = [row for row in episodes if row.definition.answer is None]
    return {
        "headline": {**_passed(counted(own)), **means(own)},
        **{heading: _passed(rows) for heading, rows in aside(episodes).items()},
    }


def _passed(tries: Sequence[EpisodeRow]) -> dict[str, Any]:
    results = passes(tries)
    return {
        "episodes": len(tries),
        "passed": results[True],
        "passed_unknown": results[None],
        "share": results[True] / len(tries) if tries else None,
    }


def summary_json(episodes: Sequence[EpisodeRow], aggregate: Aggregate) -> dict[str, Any]:
    """Return the means under the metrics' names, and how they spread: over all, per agent, per task and
    agent.

    `defined` counts the episodes behind each mean. Agents are compared over the tasks that need a call:
    `comparisons` holds the paired difference of every two, `pareto` those that no other one dominates,
    `aggregate` the gated minimum of each.
    """
    agents, apart = by_agent(episodes), baselines_last(row.agent for row in episodes)
    compared = headline(episodes)
    comparable = by_agent(compared)
    content, whole = aggregate.content, group_json(episodes)
    return {
        **whole,
        "statuses": dict(Counter(episode.status for episode in episodes)),
        **{name: one["mean"] for name, one in whole["statistics"].items()},
        "defined": {name: one["defined"] for name, one in whole["statistics"].items()},
        "agents": {
            agent: {**group_json(rows), "baseline": apart[agent], **headline_json(rows)}
            for agent, rows in agents.items()
        },
        "tasks": tasks_json(episodes),
        "comparisons": [comparison_json(one) for one in comparisons(compared)],
        "pareto": {"metrics": content.pareto, "front": front(aggregate, episodes)},
        "aggregate": {
            "file": str(aggregate.file),
            "weights": content.weights,
            "critical": content.critical,
            "agents": {agent: gated_value(aggregate, comparable.get(agent, [])) for agent in agents},
        },
    }


def run_json(episodes: Sequence[EpisodeRow]) -> dict[str, Any]:
    """Return what `run --json` prints; agents are compared in the shipped way."""
    return {
        "episodes": [episode_json(episode) for episode in episodes],
        "summary": summary_json(episodes, load_aggregate()),
    }


def latest_attempts(episodes: Iterable[EpisodeRow]) -> list[EpisodeRow]:
    """Return the last attempt of each place in a run's plan, in the plan's order."""
    return [episode for _, episode in sorted({row.number: row for row in episodes}.items())]
