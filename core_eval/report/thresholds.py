"""Thresholds on the means of each agent, as `--fail-under` gives them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from core_eval.log import EpisodeRow
from core_eval.report.counted import counted
from core_eval.report.metrics import BY_NAME, METRICS
from core_eval.report.no_call import without_call
from core_eval.report.repeated import by_agent, by_task_and_agent

WRITTEN = re.compile(r"(?P<name>[^<>=]*)(?P<sign>>=|<=|=)(?P<number>[^<>=]*)")
FORM = "write METRIC=VALUE, METRIC>=VALUE or METRIC<=VALUE"


@dataclass(frozen=True, slots=True)
class Threshold:
    """A bound on a mean.

    Attributes:
        metric: its name, as in the log.
        value: the bound.
        side: whether it is the least or the most that is allowed.
    """

    metric: str
    value: float
    side: Literal["least", "most"]

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
            raise ValueError(f"--fail-under {text!r}: {FORM}; the metrics are {', '.join(BY_NAME)}")
        name = _NAMES.get(_plain(found["name"]))
        if name is None:
            raise ValueError(
                f"--fail-under {text!r}: there is no metric {found['name'].strip()!r}; "
                f"the metrics are {', '.join(BY_NAME)}"
            )
        try:
            value = float(found["number"])
        except ValueError:
            raise ValueError(f"--fail-under {text!r}: {found['number']!r} is not a number") from None
        if value != value:
            raise ValueError(f"--fail-under {text!r}: {found['number']!r} is not a number")
        least = found["sign"] == ">=" or (found["sign"] == "=" and not BY_NAME[name].less_is_better)
        return cls(name, value, "least" if least else "most")

    def __str__(self) -> str:
        return f"{self.metric}{'>=' if self.side == 'least' else '<='}{self.value:g}"


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

    A mean that is defined in no episode is a miss; so is an episode in which no call was made, whatever the
    metric, since inaction is not a success.
    """
    groups: dict[tuple[str, str | None], list[EpisodeRow]] = {}
    if per_task:
        groups.update({(agent, task): rows for (task, agent), rows in by_task_and_agent(episodes).items()})
    else:
        groups.update({(agent, None): rows for agent, rows in by_agent(episodes).items()})
    return [
        Judged(threshold, agent, task, _missed(threshold, rows))
        for threshold in thresholds
        for (agent, task), rows in groups.items()
    ]


def _missed(threshold: Threshold, episodes: Sequence[EpisodeRow]) -> str | None:
    rows = counted(episodes)
    idle = without_call(rows)
    if idle:
        return f"no call was made in {idle} of {len(rows)} episodes (required: {threshold})"
    values = [value for row in rows if (value := row.scores.get(threshold.metric)) is not None]
    if not values:
        return f"{threshold.metric} is defined in no episode (required: {threshold})"
    mean = sum(values) / len(values)
    if mean < threshold.value if threshold.side == "least" else mean > threshold.value:
        return f"{threshold.metric} is {mean:.4g} (required: at {threshold.side} {threshold.value:g})"
    return None


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name.strip().lower()).strip("_")


_NAMES = {_plain(name): metric.name for metric in METRICS for name in (metric.heading, metric.name)}
