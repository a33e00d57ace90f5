"""The scores of many traces in figures: means and how they spread, over all and per task."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from math import isnan, nan
from typing import Any

from rich.text import Text

from core_eval.path.statistics import Summary, pass_hat_k, summarize
from core_eval.path.trace_file import SCORE_NAMES
from core_eval.report.aggregate import Aggregate
from core_eval.report.fitted_table import Table
from core_eval.report.inexact import marked
from core_eval.report.metrics import BY_NAME
from core_eval.report.tables import LEAVING, cell, plain_table

MOST_TRIES = 10
"""pass^k is reported for k from 1 to the number of tries, up to this maximum."""
DRAWN_VALUES = 20_000_000
"""Intervals of many traces are drawn fewer times, so that so many values are drawn for each."""
RESAMPLES = 2000
FEWEST_RESAMPLES = 100


class TraceSummary:
    """Gathers score records one by one.

    Attributes:
        scored, failed: how many traces there were, and how many lines that could not be scored.
        inexact: how many traces have only bounds, by metric.
    """

    def __init__(self, aggregate: Aggregate) -> None:
        self.scored = self.failed = 0
        self.inexact: Counter[str] = Counter()
        self._aggregate = aggregate
        self._tasks: dict[str, _Group] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        """Take one more record of a scores file."""
        if "error" in record:
            self.failed += 1
            return
        self.scored += 1
        self.inexact.update(record.get("bounds", {}).keys())
        self._tasks.setdefault(str(record["task"]), _Group()).add(record)

    def gated_minimum(self) -> float | None:
        """Return the weighted mean of the means, capped by the lowest critical one."""
        return self._aggregate.value(_means(self._tasks.values()))

    def as_json(self) -> dict[str, Any]:
        """Return the figures, JSON-ready."""
        content = self._aggregate.content
        everywhere = _spread(self._tasks.values())
        return {
            "scored": self.scored,
            "failed": self.failed,
            **_group_json(self._tasks.values(), everywhere),
            **{name: summary.mean for name, summary in everywhere.items()},
            "defined": {name: summary.defined for name, summary in everywhere.items()},
            "inexact": dict(self.inexact),
            "tasks": [
                {"task": task, "scored": len(group), **_group_json([group], _spread([group]))}
                for task, group in self._tasks.items()
            ],
            "aggregate": {
                "file": str(self._aggregate.file),
                "weights": content.weights,
                "critical": content.critical,
                "value": self.gated_minimum(),
            },
        }

    def table(self, *, gated: bool) -> Table:
        """Return a line for each task and one for all; optionally with the gated minimum of all."""
        names = [name for name in SCORE_NAMES if name != "exact"]
        numbers = ("traces", *(BY_NAME[name].heading for name in names))
        table = plain_table("task", *numbers, optional=LEAVING, numbers=numbers)
        rows = [(task, [group], group.inexact) for task, group in self._tasks.items()]
        if len(rows) != 1:
            rows.append(("all", list(self._tasks.values()), self.inexact))
        for task, groups, inexact in rows:
            count, means = sum(map(len, groups)), _means(groups)
            cells = [marked(cell(name, means[name]), inexact[name], count) for name in names]
            table.add_row(Text(task), str(count), *cells)
        if gated:
            value = self.gated_minimum()
            table.caption = f"gated minimum: {'-' if value is None else f'{value:.3f}'}"
        return table


class _Group:
    """The scores of one task's traces; NaN where one is undefined."""

    def __init__(self) -> None:
        self.values = {name: array("d") for name in SCORE_NAMES}
        self.inexact: Counter[str] = Counter()
        self.passed = 0

    def add(self, record: Mapping[str, Any]) -> None:
        for name in SCORE_NAMES:
            self.values[name].append(nan if record[name] is None else record[name])
        self.inexact.update(record.get("bounds", {}).keys())
        self.passed += record["accepted"] and not record["harmful_calls"]

    def __len__(self) -> int:
        return len(self.values["accepted"])


def _defined(groups: Iterable[_Group], name: str) -> Iterator[float | None]:
    return (None if isnan(value) else value for group in groups for value in group.values[name])


def _means(groups: Collection[_Group]) -> dict[str, float | None]:
    means: dict[str, float | None] = {}
    for name in SCORE_NAMES:
        known = [value for value in _defined(groups, name) if value is not None]
        means[name] = sum(known) / len(known) if known else None
    return means


def _spread(groups: Collection[_Group]) -> dict[str, Summary]:
    traces = sum(map(len, groups))
    resamples = max(FEWEST_RESAMPLES, min(RESAMPLES, DRAWN_VALUES // max(1, traces)))
    # Traces from anywhere do not tell whether two are the same try, so each counts.
    keys = [(str(number), None) for number, group in enumerate(groups) for _ in range(len(group))]
    return {
        name: summarize(_defined(groups, name), keys, flag=BY_NAME[name].kind == "flag", resamples=resamples)
        for name in SCORE_NAMES
    }


def _group_json(groups: Iterable[_Group], spread: Mapping[str, Summary]) -> dict[str, Any]:
    tries = [(group.passed, len(group)) for group in groups]
    most = min(MOST_TRIES, max((total for _, total in tries), default=0))
    chances = {str(k): pass_hat_k(tries, k) for k in range(1, most + 1)}
    return {
        "passed": sum(passed for passed, _ in tries),
        "pass_k": chances,
        "statistics": {name: _summary_json(summary) for name, summary in spread.items()},
    }


def _summary_json(summary: Summary) -> dict[str, Any]:
    return {
        "defined": summary.defined,
        "mean": summary.mean,
        "standard_error": summary.standard_error,
        "interval": None if summary.low is None else [summary.low, summary.high],
        "quantiles": {f"{q:g}": value for q, value in summary.quantiles},
    }
