"""Episodes and their means as JSON-ready mappings, and thresholds on the means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from core_eval.log import EpisodeRow
from core_eval.report.aggregate import Aggregate, load_aggregate
from core_eval.report.metrics import BY_NAME, METRICS, json_value
from core_eval.report.repeated import by_agent, counted, group_json, tasks_json


def episode_json(episode: EpisodeRow) -> dict[str, Any]:
    """One episode with its scores under their names; metrics that were not computed are null."""
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
        **scores,
        **others,
        "failures": [asdict(failure) for failure in episode.failures],
        "pairs": [asdict(pair) for pair in episode.pairs],
    }


def mean(episodes: Iterable[EpisodeRow], metric: str) -> tuple[float | None, int]:
    """The mean over the episodes that count and have the metric, and how many those are."""
    values = [value for row in counted(episodes) if (value := row.scores.get(metric)) is not None]
    return (sum(values) / len(values) if values else None), len(values)


def means(episodes: Sequence[EpisodeRow]) -> dict[str, float | None]:
    """The mean of every metric."""
    return {metric.name: mean(episodes, metric.name)[0] for metric in METRICS}


def summary_json(episodes: Sequence[EpisodeRow], aggregate: Aggregate) -> dict[str, Any]:
    """The means under the metrics' names, and how they spread: over all, per agent, per task and agent.

    `defined` counts the episodes behind each mean. `pareto` holds the agents that no other one dominates,
    `aggregate` the gated minimum of each.
    """
    agents = by_agent(episodes)
    agent_means = {agent: means(rows) for agent, rows in agents.items()}
    content = aggregate.content
    return {
        **group_json(episodes),
        "statuses": dict(Counter(episode.status for episode in episodes)),
        **means(episodes),
        "defined": {metric.name: mean(episodes, metric.name)[1] for metric in METRICS},
        "agents": {agent: group_json(rows) for agent, rows in agents.items()},
        "tasks": tasks_json(episodes),
        "pareto": {"metrics": content.pareto, "front": aggregate.front(agent_means)},
        "aggregate": {
            "file": str(aggregate.file),
            "weights": content.weights,
            "critical": content.critical,
            "agents": {agent: aggregate.value(own) for agent, own in agent_means.items()},
        },
    }


def run_json(episodes: Sequence[EpisodeRow], aggregate: Aggregate | None = None) -> dict[str, Any]:
    """What `run --json` prints; `aggregate` says how agents are compared, the shipped way where left out."""
    return {
        "episodes": [episode_json(episode) for episode in episodes],
        "summary": summary_json(episodes, aggregate or load_aggregate()),
    }


@dataclass(frozen=True, slots=True)
class Threshold:
    """A bound on a mean: the least, or the most for metrics of which less is better."""

    metric: str
    value: float

    @classmethod
    def parse(cls, text: str) -> Threshold:
        """`METRIC=VALUE`.

        Raises:
            ValueError: it does not have that form, or no metric has that name.
        """
        name, equals, number = text.partition("=")
        if not equals or name not in BY_NAME:
            raise ValueError(
                f"--fail-under {text!r}: write METRIC=VALUE; the metrics are {', '.join(BY_NAME)}"
            )
        try:
            return cls(name, float(number))
        except ValueError:
            raise ValueError(f"--fail-under {text!r}: {number!r} is no number") from None

    def missed(self, episodes: Sequence[EpisodeRow]) -> str | None:
        """What was missed, in words; a mean that is undefined is a miss."""
        value, _ = mean(episodes, self.metric)
        if value is None:
            return f"{self.metric} is defined in no episode (asked: {self.value:g})"
        less = BY_NAME[self.metric].less_is_better
        if (value > self.value) if less else (value < self.value):
            return f"{self.metric} is {value:.4g} (asked: at {'most' if less else 'least'} {self.value:g})"
        return None


def latest_attempts(episodes: Iterable[EpisodeRow]) -> list[EpisodeRow]:
    """Of each place in a run's plan the last attempt, in the plan's order."""
    return [episode for _, episode in sorted({row.number: row for row in episodes}.items())]
