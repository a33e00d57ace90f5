"""The scores of many traces in figures: means and how they spread, over all and per task."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import isfinite, nan
from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

from core_eval.score.aggregate import Aggregate
from core_eval.score.metrics import BY_NAME
from core_eval.traces.memo import Memo
from core_eval.traces.scored_traces import SCORE_NAMES, Scored

if TYPE_CHECKING:
    from core_eval.report.tables.fitted_table import Table


class TraceSummary:
    """Gathers the scores of traces.

    Attributes:
        scored, failed: how many traces there were, and how many lines that could not be scored.
        tasks: the scores by task.
        aggregate: the settings of the gated minimum.
    """

    def __init__(self, aggregate: Aggregate) -> None:
        self.scored = self.failed = 0
        self.aggregate = aggregate
        self.tasks: dict[str, TraceGroup] = {}

    def add(self, found: Sequence[Scored]) -> None:
        """Take more traces with their scores."""
        for trace, scores, _, identity in found:
            if "error" in scores:
                self.failed += 1
                continue
            self.scored += 1
            task = str(trace.task)
            group = self.tasks.get(task)
            if group is None:
                group = self.tasks[task] = TraceGroup()
            group.add(scores, identity)

    def merge(self, other: TraceSummary) -> None:
        """Take the traces of another summary, too."""
        self.scored += other.scored
        self.failed += other.failed
        for task, group in other.tasks.items():
            if task in self.tasks:
                self.tasks[task].merge(group)
            else:
                self.tasks[task] = group

    @property
    def inexact(self) -> bool:
        """Whether a trace has only bounds of a metric."""
        return any(group.inexact for group in self.tasks.values())

    def table(self, *, gated: bool) -> Table:
        """Return a line for each task and one for all; optionally with the gated minimum of all."""
        from rich.text import Text

        from core_eval.report.tables.fitted_table import Table
        from core_eval.report.tables.values import LEAVING, cell
        from core_eval.score.episodes import marked

        names = [name for name in SCORE_NAMES if name != "exact"]
        numbers = ("traces", *(BY_NAME[name].heading for name in names))
        table = Table("task", *numbers, optional=LEAVING, numbers=numbers)
        rows = [(task, [group]) for task, group in self.tasks.items()]
        if len(rows) != 1:
            rows.append(("all", list(self.tasks.values())))
        for task, groups in rows:
            found = _means(groups)
            count = sum(map(len, groups))
            cells = [marked(cell(name, found[name].mean), found[name]) for name in names]
            distinct = sum(group.distinct for group in groups)
            traces = str(count) if distinct == count else f"{count}\n{distinct} distinct"
            table.add_row(Text(task), traces, *cells)
        if gated:
            value = self.aggregate.value({name: one.mean for name, one in found.items()})
            table.caption = f"gated minimum: {'-' if value is None else f'{value:.3f}'}"
        return table


class TraceGroup:
    """The scores of one task's traces; NaN where one is undefined.

    Traces whose scores are one object share a row of the values.
    """

    def __init__(self) -> None:
        # Row by row, in the order of SCORE_NAMES.
        self.scores = array("d")
        self.rows = array("q")
        self.identities = array("q")
        self._bounds: list[tuple[int, Sequence[str]]] = []
        self._passed = array("b")
        # With the scores, so that their ids are not used again.
        self._known: Memo[int, tuple[int, Mapping[str, Any]]] = Memo()

    def add(self, scores: Mapping[str, Any], identity: int) -> None:
        """Take a trace more, with what identical ones share."""
        self.identities.append(identity)
        known = self._known.get(id(scores))
        if known is None:
            known = self._known.keep(id(scores), (self._new_row(scores), scores))
        self.rows.append(known[0])

    def _new_row(self, scores: Mapping[str, Any]) -> int:
        row = len(self._passed)
        self.scores.extend([nan if (score := scores[name]) is None else score for name in SCORE_NAMES])
        self._passed.append(scores["accepted"] and not scores["harmful_calls"])
        if "bounds" in scores:
            self._bounds.append((row, tuple(scores["bounds"])))
        return row

    def __getstate__(self) -> dict[str, Any]:
        # In another process the ids are of other objects.
        return {**self.__dict__, "_known": Memo()}

    def merge(self, other: TraceGroup) -> None:
        """Take the traces of another group, too."""
        before = len(self._passed)
        self.scores.extend(other.scores)
        self.rows.extend([row + before for row in other.rows])
        self.identities.extend(other.identities)
        self._passed.extend(other._passed)
        self._bounds += [(before + row, names) for row, names in other._bounds]

    @property
    def values(self) -> Sequence[Sequence[float]]:
        """The different scores, a row each."""
        width = len(SCORE_NAMES)
        return [self.scores[at : at + width] for at in range(0, len(self.scores), width)]

    def times(self) -> Sequence[int]:
        """Return how many traces have each row of scores."""
        found = Counter(self.rows)
        return [found[row] for row in range(len(self._passed))]

    @property
    def distinct(self) -> int:
        """How many distinct tries there are."""
        return len(set(self.identities))

    @property
    def passed(self) -> int:
        """How many traces passed."""
        return sum(map(mul, self.times(), self._passed))

    @property
    def inexact(self) -> Counter[str]:
        """How many traces have only bounds of a score."""
        times = self.times()
        found: Counter[str] = Counter()
        for row, names in self._bounds:
            found.update(dict.fromkeys(names, times[row]))
        return found

    def __len__(self) -> int:
        return len(self.identities)


class _Mean(NamedTuple):
    """A mean over traces of which so many have but a bound; None where none is defined."""

    episodes: int
    inexact: int
    mean: float | None


def _means(groups: Collection[TraceGroup]) -> dict[str, _Mean]:
    """Return means without their spread: neither their modules nor numpy are needed."""
    inexact = sum((group.inexact for group in groups), Counter[str]())
    rows = [(times, row) for group in groups for times, row in zip(group.times(), group.values, strict=True)]
    found = {}
    for place, name in enumerate(SCORE_NAMES):
        known = [(times, row[place]) for times, row in rows if isfinite(row[place])]
        count = sum(times for times, _ in known)
        total = sum(times * value for times, value in known)
        found[name] = _Mean(sum(map(len, groups)), inexact[name], total / count if count else None)
    return found
