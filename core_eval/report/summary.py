"""Episodes and their means as JSON-ready mappings, and thresholds on the means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from core_eval.log import EpisodeRow
from core_eval.report.metrics import BY_NAME, METRICS, json_value

COUNTED = frozenset({"completed", "stopped"})
"""Only these enter the means: the others ended by no doing of the agent's."""


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
        "error": episode.error,
        **scores,
        **others,
        "failures": [asdict(failure) for failure in episode.failures],
        "pairs": [asdict(pair) for pair in episode.pairs],
    }


def mean(episodes: Iterable[EpisodeRow], metric: str) -> tuple[float | None, int]:
    """The mean over the episodes that count and have the metric, and how many those are."""
    values = [
        value
        for episode in episodes
        if episode.status in COUNTED and (value := episode.scores.get(metric)) is not None
    ]
    return (sum(values) / len(values) if values else None), len(values)


def summary_json(episodes: Sequence[EpisodeRow]) -> dict[str, Any]:
    """The means under the metrics' names, `defined` (episodes behind each mean) and the statuses."""
    means = {metric.name: mean(episodes, metric.name) for metric in METRICS}
    return {
        "episodes": len(episodes),
        "statuses": dict(Counter(episode.status for episode in episodes)),
        **{name: value for name, (value, _) in means.items()},
        "defined": {name: count for name, (_, count) in means.items()},
    }


def run_json(episodes: Sequence[EpisodeRow]) -> dict[str, Any]:
    """What `run --json` prints."""
    return {
        "episodes": [episode_json(episode) for episode in episodes],
        "summary": summary_json(episodes),
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
