"""The scores of many traces in figures: means and how they spread, over all and per task."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from core_eval.report.tables.agents import LEAVING
from core_eval.report.tables.fitted_table import Table
from core_eval.report.tables.texts import cell
from core_eval.score.aggregate import Aggregate
from core_eval.score.episodes import marked
from core_eval.score.metrics import BY_NAME
from core_eval.statistics.estimates import Estimate, pass_hat_k, summarize
from core_eval.statistics.intervals import Floats, Groups
from core_eval.traces.memo import Memo
from core_eval.traces.scored_traces import SCORE_NAMES, Scored

MOST_TRIES = 10
"""pass^k is reported for k from 1 to the number of distinct tries, up to this maximum."""


ODD_BITS = np.int64(0x1E3779B97F4A7C15)
"""Its multiples, modulo 2**64, differ in bits of all places."""


class TraceSummary:
    """Gathers the scores of traces.

    Attributes:
        scored, failed: how many traces there were, and how many lines that could not be scored.
    """

    def __init__(self, aggregate: Aggregate) -> None:
        self.scored = self.failed = 0
        self._aggregate = aggregate
        self._tasks: dict[str, _Group] = {}

    def add(self, found: Sequence[Scored]) -> None:
        """Take more traces with their scores."""
        for trace, scores, _, identity in found:
            if "error" in scores:
                self.failed += 1
                continue
            self.scored += 1
            task = str(trace.task)
            group = self._tasks.get(task)
            if group is None:
                group = self._tasks[task] = _Group()
            group.add(scores, identity)

    def merge(self, other: TraceSummary) -> None:
        """Take the traces of another summary, too."""
        self.scored += other.scored
        self.failed += other.failed
        for task, group in other._tasks.items():
            if task in self._tasks:
                self._tasks[task].merge(group)
            else:
                self._tasks[task] = group

    @property
    def inexact(self) -> bool:
        """Whether a trace has only bounds of a metric."""
        return any(group.inexact for group in self._tasks.values())

    def _gated_minimum(self, everywhere: Mapping[str, Estimate]) -> float | None:
        """Return the weighted mean of the means, capped by the lowest critical one."""
        return self._aggregate.value({name: one.mean for name, one in everywhere.items()})

    def as_json(self) -> dict[str, Any]:
        """Return the figures, JSON-ready."""
        content = self._aggregate.content
        groups = list(self._tasks.values())
        everywhere = _spread(groups)
        return {
            "scored": self.scored,
            "failed": self.failed,
            **_group_json(groups, everywhere),
            **{name: summary.mean for name, summary in everywhere.items()},
            "defined": {name: summary.defined for name, summary in everywhere.items()},
            "inexact": {name: one.inexact for name, one in everywhere.items() if one.inexact},
            "tasks": [
                {"task": task, "scored": len(group), **_group_json([group], _spread([group]))}
                for task, group in self._tasks.items()
            ],
            "aggregate": {
                "file": str(self._aggregate.file),
                "weights": content.weights,
                "critical": content.critical,
                "value": self._gated_minimum(everywhere),
            },
        }

    def table(self, *, gated: bool) -> Table:
        """Return a line for each task and one for all; optionally with the gated minimum of all."""
        names = [name for name in SCORE_NAMES if name != "exact"]
        numbers = ("traces", *(BY_NAME[name].heading for name in names))
        table = Table("task", *numbers, optional=LEAVING, numbers=numbers)
        rows = [(task, [group]) for task, group in self._tasks.items()]
        if len(rows) != 1:
            rows.append(("all", list(self._tasks.values())))
        for task, groups in rows:
            found = _means(groups)
            count = sum(map(len, groups))
            cells = [marked(cell(name, found[name].mean), found[name]) for name in names]
            distinct = sum(group.tries().distinct for group in groups)
            traces = str(count) if distinct == count else f"{count}\n{distinct} distinct"
            table.add_row(Text(task), traces, *cells)
        if gated:
            value = self._gated_minimum(found)
            table.caption = f"gated minimum: {'-' if value is None else f'{value:.3f}'}"
        return table


class _Tries(NamedTuple):
    """The tries of a task: how many are distinct; how many there are, and passed, where what was run over
    again as a whole counts once.
    """

    distinct: int
    all: int
    passed: int


class _Group:
    """The scores of one task's traces; NaN where one is undefined.

    Traces whose scores are one object share a row of the values.
    """

    def __init__(self) -> None:
        # Row by row, in the order of SCORE_NAMES.
        self._values = array("d")
        self.rows = array("q")
        self.identities = array("q")
        self._bounds: list[tuple[int, Sequence[str]]] = []
        self._passed = array("b")
        # With the scores, so that their ids are not used again.
        self._known: Memo[int, tuple[int, Mapping[str, Any]]] = Memo()

    def add(self, scores: Mapping[str, Any], identity: int) -> None:
        self.identities.append(identity)
        known = self._known.get(id(scores))
        if known is None:
            known = self._known.keep(id(scores), (self._new_row(scores), scores))
        self.rows.append(known[0])

    def _new_row(self, scores: Mapping[str, Any]) -> int:
        row = len(self._passed)
        self._values.extend([nan if (score := scores[name]) is None else score for name in SCORE_NAMES])
        self._passed.append(scores["accepted"] and not scores["harmful_calls"])
        if "bounds" in scores:
            self._bounds.append((row, tuple(scores["bounds"])))
        return row

    def __getstate__(self) -> dict[str, Any]:
        # In another process the ids are of other objects.
        return {**self.__dict__, "_known": Memo()}

    def merge(self, other: _Group) -> None:
        """Take the traces of another group, too."""
        before = len(self._passed)
        self._values.extend(other._values)
        self.rows.frombytes((np.frombuffer(other.rows, np.int64) + before).tobytes())
        self.identities.extend(other.identities)
        self._passed.extend(other._passed)
        self._bounds += [(before + row, names) for row, names in other._bounds]

    def of(self, name: str) -> Floats:
        """Return the values of a score, one for each trace."""
        found: Floats = self.values()[:, SCORE_NAMES.index(name)][np.frombuffer(self.rows, np.int64)]
        return found

    def values(self) -> Floats:
        """Return the different scores, a row each."""
        return np.frombuffer(self._values).reshape(-1, len(SCORE_NAMES))

    def times(self) -> NDArray[np.int64]:
        """Return how many traces have each row of scores."""
        return np.bincount(np.frombuffer(self.rows, np.int64), minlength=len(self._passed))

    @property
    def passed(self) -> int:
        """How many traces passed."""
        return int(self.times() @ np.frombuffer(self._passed, np.int8))

    @property
    def inexact(self) -> Counter[str]:
        """How many traces have only bounds of a score."""
        times = self.times()
        found: Counter[str] = Counter()
        for row, names in self._bounds:
            found.update(dict.fromkeys(names, int(times[row])))
        return found

    def tries(self) -> _Tries:
        """Return how many tries there are."""
        _, copies = np.unique(np.frombuffer(self.identities, np.int64), return_counts=True)
        times = int(np.gcd.reduce(copies))
        return _Tries(len(copies), len(self) // times, self.passed // times)

    def __len__(self) -> int:
        return len(self.identities)


def _values(groups: Iterable[_Group], name: str) -> Floats:
    return np.concatenate([group.of(name) for group in groups])


def _means(groups: Collection[_Group]) -> dict[str, Estimate]:
    """Return means without their spread, which would take as long as the scores of many traces."""
    inexact = sum((group.inexact for group in groups), Counter[str]())
    values = np.concatenate([np.zeros((0, len(SCORE_NAMES))), *[group.values() for group in groups]])
    times = np.concatenate([np.zeros(0), *[group.times() for group in groups]])[:, None]
    known = np.isfinite(values)
    counts = (times * known).sum(axis=0)
    sums = (times * np.where(known, values, 0.0)).sum(axis=0)
    return {
        name: Estimate(
            sum(map(len, groups)), mean=float(total / count) if count else None, inexact=inexact[name]
        )
        for name, total, count in zip(SCORE_NAMES, sums, counts, strict=True)
    }


def _spread(groups: Collection[_Group]) -> dict[str, Estimate]:
    if not groups:
        return dict.fromkeys(SCORE_NAMES, Estimate())
    tasks = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    # The same course in two tasks makes two tries.
    identities = [
        np.frombuffer(group.identities, np.int64) ^ (number * ODD_BITS) for number, group in enumerate(groups)
    ]
    _, tries = np.unique(np.concatenate(identities), return_inverse=True)
    keys = Groups(tasks, tries)
    inexact = sum((group.inexact for group in groups), Counter[str]())
    return {
        name: summarize(
            _values(groups, name),
            keys,
            flag=BY_NAME[name].kind == "flag",
            limits=BY_NAME[name].limits,
            inexact=inexact[name],
        )
        for name in SCORE_NAMES
    }


def _group_json(groups: Iterable[_Group], spread: Mapping[str, Estimate]) -> dict[str, Any]:
    tries = [group.tries() for group in groups]
    most = min(MOST_TRIES, max((one.distinct for one in tries), default=0))
    chances = {
        str(k): pass_hat_k(((one.passed, one.all) for one in tries if one.distinct >= k), k)
        for k in range(1, most + 1)
    }
    return {
        "passed": sum(group.passed for group in groups),
        "distinct": sum(one.distinct for one in tries),
        "pass_k": chances,
        "statistics": {name: one.as_json() for name, one in spread.items()},
    }
