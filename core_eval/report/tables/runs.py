"""The table of a log's runs, and a run's plan in words."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core_eval.log import RunRow
from core_eval.report.tables.fitted_table import Table
from core_eval.text.visible_text import visible

MOST_NAMED = 6
"""Tasks, rigs or agents of a run's plan that are named; of more there is the number."""


def runs_table(runs: Iterable[RunRow]) -> Table:
    """Return one row a run."""
    table = Table("run", "created (UTC)", "ended", "plan", numbers=("run", "created (UTC)"))
    for run in runs:
        created = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(run.created))
        table.add_row(str(run.id), created, "no" if run.ended is None else "yes", visible(plan_text(run)))
    return table


def plan_text(run: RunRow) -> str:
    """Return a run's plan: its tasks, rigs and agents by name, or their number where they are many."""
    if imported := run.config.get("imported"):
        return f"import of {', '.join(map(str, imported))}"
    cells: Sequence[Mapping[str, Any]] = run.shown_config.get("cells", [])
    parts = []
    for key in ("task", "rig", "agent"):
        names = list(dict.fromkeys(str(one[key]) for one in cells))
        parts.append(f"{len(names)} {key}s" if len(names) > MOST_NAMED else ", ".join(names))
    episodes = run.config.get("episodes", "?")
    plan = " x ".join([*parts, *([] if episodes == 1 else [f"{episodes} episodes"])])
    return f"suite {', '.join(run.suites)}: {plan}" if run.suites else plan
