"""The scores of many traces in figures: means and how they spread, over all and per task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from core_eval.path.statistics import Summary, pass_hat_k, summarize
from core_eval.path.trace_file import SCORE_NAMES
from core_eval.report.aggregate import Aggregate
from core_eval.report.inexact import marked
from core_eval.report.metrics import BY_NAME
from core_eval.report.tables import cell, plain_table

MOST_TRIES = 10
"""pass^k is told for k from 1 to the number of tries, and to this at most."""


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

    @property
    def means(self) -> dict[str, float | None]:
        """The mean of every score over the traces in which it is defined."""
        return {name: summary.mean for name, summary in self._spread().items()}

    def gated_minimum(self) -> float | None:
        """The weighted mean of the means, capped by the lowest critical one."""
        return self._aggregate.value(self.means)

    def as_json(self) -> dict[str, Any]:
        """The figures, JSON-ready."""
        content = self._aggregate.content
        everywhere = self._spread()
        return {
            "scored": self.scored,
            "failed": self.failed,
            **_group_json(self._tasks.values(), everywhere),
            **{name: summary.mean for name, summary in everywhere.items()},
            "defined": {name: summary.defined for name, summary in everywhere.items()},
            "inexact": dict(self.inexact),
            "tasks": [
                {"task": task, "scored": len(group), **_group_json([group], group.spread())}
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
        """A line for each task and one for all; with the gated minimum of all where that is asked for."""
        names = [name for name in SCORE_NAMES if name != "exact"]
        table = plain_table("task", "traces", *(BY_NAME[name].heading for name in names))
        groups = [*self._tasks.items(), ("all", None)] if len(self._tasks) != 1 else list(self._tasks.items())
        for task, group in groups:
            spread = self._spread() if group is None else group.spread()
            inexact = self.inexact if group is None else group.inexact
            count = self.scored if group is None else len(group)
            cells = [marked(cell(name, spread[name].mean), inexact[name], count) for name in names]
            table.add_row(Text(task), str(count), *cells)
        if gated:
            value = self.gated_minimum()
            table.caption = f"gated minimum: {'-' if value is None else f'{value:.3f}'}"
            table.caption_justify = "left"
        return table

    def _spread(self) -> dict[str, Summary]:
        return {
            name: summarize(value for group in self._tasks.values() for value in group.values[name])
            for name in SCORE_NAMES
        }


class _Group:
    """The scores of one task's traces."""

    def __init__(self) -> None:
        self.values: dict[str, list[float | None]] = {name: [] for name in SCORE_NAMES}
        self.inexact: Counter[str] = Counter()
        self.passed = 0

    def add(self, record: Mapping[str, Any]) -> None:
        for name in SCORE_NAMES:
            self.values[name].append(None if record[name] is None else float(record[name]))
        self.inexact.update(record.get("bounds", {}).keys())
        self.passed += record["accepted"] and not record["harmful_calls"]

    def spread(self) -> dict[str, Summary]:
        return {name: summarize(values) for name, values in self.values.items()}

    def __len__(self) -> int:
        return len(self.values["accepted"])


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
