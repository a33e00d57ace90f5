"""Compares agents: the Pareto front over their means, and the gated minimum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

import configs
from configs.yaml_file import YamlFile, load_yaml
from core_eval.score.metrics import BY_NAME, LESS_IS_BETTER
from core_eval.statistics.pareto import gated_minimum, pareto_front

DEFAULT_FILE = Path(configs.__file__).parent / "aggregate.yaml"
FROM_0_TO_1 = tuple(name for name, metric in BY_NAME.items() if metric.kind in ("share", "flag"))

Means = Mapping[str, float | None]


class AggregateFile(BaseModel):
    """The keys of an aggregate file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pareto: list[str] = Field(min_length=1, description="the metrics of the Pareto front")
    weights: dict[str, float] = Field(
        min_length=1, description="the weight of each metric (from 0 to 1) in the gated minimum's mean"
    )
    critical: list[str] = Field(default=[], description="the metrics that cap the gated minimum")


@dataclass(frozen=True)
class Aggregate:
    """The settings for comparing agents.

    Attributes:
        file: where it was read.
        content: its keys, checked.
    """

    file: Path
    content: AggregateFile

    def front(self, means: Mapping[str, Means]) -> list[str]:
        """Return the agents on the Pareto front of their means, in the order given."""
        vectors = {
            agent: {name: own.get(name) for name in self.content.pareto} for agent, own in means.items()
        }
        return pareto_front(vectors, LESS_IS_BETTER)

    def value(self, means: Means) -> float | None:
        """Return the gated minimum of an agent's means; None where none of the weighted ones is defined."""
        named = {*self.content.weights, *self.content.critical}
        scores = {name: _higher_is_better(name, means.get(name)) for name in named}
        return gated_minimum(scores, self.content.weights, self.content.critical)


def load_aggregate(path: Path | None = None) -> Aggregate:
    """Return an aggregate file, or the shipped one.

    Raises:
        ConfigError: the file cannot be read, or a key of it is wrong.
    """
    file = load_yaml(DEFAULT_FILE if path is None else path)
    content = file.validate(AggregateFile)
    _check(file, content)
    return Aggregate(file.path, content)


def _check(file: YamlFile, content: AggregateFile) -> None:
    for index, name in enumerate(content.pareto):
        if name not in BY_NAME:
            raise file.error(
                f"there is no metric {name!r}; the metrics are {', '.join(BY_NAME)}", "pareto", index
            )
    weighted: list[tuple[str, str | int]] = [
        *((name, name) for name in content.weights),
        *((name, index) for index, name in enumerate(content.critical)),
    ]
    for place, (name, key) in enumerate(weighted):
        if name not in FROM_0_TO_1:
            part = "weights" if place < len(content.weights) else "critical"
            why = "is not a metric from 0 to 1" if name in BY_NAME else "is not a metric"
            raise file.error(f"{name!r} {why}; these are: {', '.join(FROM_0_TO_1)}", part, key)
    for name, weight in content.weights.items():
        if not 0 <= weight < float("inf"):
            raise file.error(f"a weight must be a number, 0 or more, not {weight:g}", "weights", name)
    if not any(content.weights.values()):
        raise file.error("at least one weight must be above 0", "weights")


def _higher_is_better(name: str, value: float | None) -> float | None:
    return 1 - value if value is not None and name in LESS_IS_BETTER else value
