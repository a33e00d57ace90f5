"""Thresholds on the means of each agent, as `--fail-under` gives them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from math import isclose
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from configs.yaml_file import load_yaml
from core_eval.log import CHARGED, EpisodeRow
from core_eval.score.episodes import counted, without_call
from core_eval.score.metrics import BY_NAME, METRICS
from core_eval.score.repeated import by_agent, by_task_and_agent, spread
from core_eval.statistics.intervals import ROUNDING

WRITTEN = re.compile(r"(?P<name>[^<>=]*)(?P<sign>>=|<=|=)(?P<number>[^<>=]*)")
HARM = frozenset({"harm_events", "harm_cost", CHARGED, "excess_harm", "unobserved_harm", "unobserved_cost"})
"""Metrics that are undefined where they are not known: then they may be anything."""
FORM = "write METRIC=VALUE, METRIC>=VALUE or METRIC<=VALUE"


@dataclass(frozen=True, slots=True)
class Threshold:
    """A bound on a mean.

    Attributes:
        metric: its name, as in the log.
        value: the bound.
        side: whether it is the least or the most that is allowed.
        agent, task: patterns of the agents and tasks that it holds for.
        per_task: whether it holds for each task with each agent, not for the agent's mean.
    """

    metric: str
    value: float
    side: Literal["least", "most"]
    agent: str = "*"
    task: str = "*"
    per_task: bool = False

    @classmethod
    def parse(cls, text: str) -> Threshold:
        """Read `METRIC>=VALUE`, `METRIC<=VALUE`, or `METRIC=VALUE`: the minimum, or the maximum if lower is
        better.

        A metric has its name or its heading in the tables; capitals do not matter.

        Raises:
            ValueError: it does not have that form, or no metric has that name.
        """
        found = WRITTEN.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r}: {FORM}; the metrics are {', '.join(BY_NAME)}")
        try:
            name = metric_named(found["name"])
            value = float(found["number"])
        except UnknownMetricError as error:
            raise ValueError(f"{text!r}: {error}") from None
        except ValueError:
            raise ValueError(f"{text!r}: {found['number']!r} is not a number") from None
        if value != value:
            raise ValueError(f"{text!r}: {found['number']!r} is not a number")
        least = found["sign"] == ">=" or (found["sign"] == "=" and not BY_NAME[name].less_is_better)
        return cls(name, value, "least" if least else "most")

    def __str__(self) -> str:
        scope = [
            f"{key} {value}" for key, value in (("agent", self.agent), ("task", self.task)) if value != "*"
        ]
        bound = f"{self.metric}{'>=' if self.side == 'least' else '<='}{self.value:g}"
        return f"{bound} for {', '.join(scope)}" if scope else bound


class Gate(BaseModel):
    """A threshold in a gates file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    gate: str = Field(description="METRIC>=VALUE, METRIC<=VALUE or METRIC=VALUE")
    agent: str = Field(default="*", description="the agents that it holds for; `*` and `?` are wildcards")
    task: str = Field(default="*", description="the tasks that it holds for, likewise")
    per_task: bool = Field(default=False, description="whether each task must keep it, not the mean alone")


class GatesFile(BaseModel):
    """The keys of a gates file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    gates: tuple[str | Gate, ...] = Field(
        min_length=1, description="the thresholds; a text is a `gate` alone"
    )


def load_gates(path: Path) -> list[Threshold]:
    """Return the thresholds of a gates file.

    Raises:
        ConfigError: it cannot be read, or a key of it is wrong.
    """
    file = load_yaml(path)
    thresholds = []
    for index, one in enumerate(file.validate(GatesFile).gates):
        gate = Gate(gate=one) if isinstance(one, str) else one
        try:
            threshold = Threshold.parse(gate.gate)
        except ValueError as error:
            raise file.error(str(error), "gates", index) from None
        thresholds.append(replace(threshold, agent=gate.agent, task=gate.task, per_task=gate.per_task))
    return thresholds


@dataclass(frozen=True, slots=True)
class Judged:
    """The result of a threshold for the episodes of one agent, or of one task with one agent.

    Attributes:
        task: None where all of the agent's tasks are meant.
        missed: what was missed, in words; None where it was kept.
    """

    threshold: Threshold
    agent: str
    task: str | None
    missed: str | None

    @property
    def who(self) -> str:
        """The agent, and the task where one is meant."""
        return self.agent if self.task is None else f"{self.agent}, {self.task}"


def judge(
    thresholds: Iterable[Threshold], episodes: Sequence[EpisodeRow], *, per_task: bool = False
) -> list[Judged]:
    """Check every threshold for each agent, or for each task with each agent.

    A mean that is defined in no episode is a miss; so is harm that is not known of one; so is an episode in
    which no call was made, whatever the metric, since inaction is not a success; so is a threshold for agents
    or tasks without episodes.
    """
    found = []
    for threshold in thresholds:
        rows = [
            row
            for row in episodes
            if fnmatchcase(row.agent, threshold.agent) and fnmatchcase(row.task, threshold.task)
        ]
        groups: dict[tuple[str, str | None], list[EpisodeRow]]
        if per_task or threshold.per_task:
            groups = {(agent, task): own for (task, agent), own in by_task_and_agent(rows).items()}
        else:
            groups = {(agent, None): own for agent, own in by_agent(rows).items()}
        if not groups and episodes:
            found.append(Judged(threshold, threshold.agent, threshold.task, "no episode is meant by it"))
        found += [Judged(threshold, *who, _missed(threshold, own)) for who, own in groups.items()]
    return found


def _missed(threshold: Threshold, episodes: Sequence[EpisodeRow]) -> str | None:
    rows = counted(episodes, threshold.metric)
    idle = without_call(rows)
    if idle:
        return f"no call was made in {idle} of {len(rows)} episodes (required: {threshold})"
    found = spread(rows, threshold.metric)
    if found.mean is None:
        return f"{threshold.metric} is defined in no episode (required: {threshold})"
    if threshold.metric in HARM and found.defined < found.episodes:
        unknown = found.episodes - found.defined
        return f"{threshold.metric} is not known in {unknown} of {len(rows)} episodes (required: {threshold})"
    beyond = found.mean < threshold.value if threshold.side == "least" else found.mean > threshold.value
    if beyond and not isclose(found.mean, threshold.value, rel_tol=ROUNDING):
        return f"{threshold.metric} is {found.mean:.4g} (required: at {threshold.side} {threshold.value:g})"
    return None


class UnknownMetricError(ValueError):
    """No metric has that name."""


def metric_named(text: str) -> str:
    """Return the name of a metric in the log, from its name or its heading; capitals do not matter.

    Raises:
        UnknownMetricError: there is none.
    """
    name = _NAMES.get(_plain(text))
    if name is None:
        raise UnknownMetricError(f"there is no metric {text.strip()!r}; the metrics are {', '.join(BY_NAME)}")
    return name


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name.strip().lower()).strip("_")


_NAMES = {_plain(name): metric.name for metric in METRICS for name in (metric.heading, metric.name)}
