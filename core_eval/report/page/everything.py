"""What the report's second tab shows: all tables and drawings, and the list of episodes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from core_eval.log import EpisodeRow, RunRow, blameless, unseen
from core_eval.report.pictures.agent_charts import scatters
from core_eval.report.pictures.risk_coverage import expected_choices, risk_svg
from core_eval.report.pictures.roc_drawing import logged_curves, panel_svg, set_names
from core_eval.report.tables.agents import (
    agent_columns,
    agent_groups,
    difference_columns,
    differences,
    episode_columns,
    front_headings,
    task_columns,
    task_groups,
)
from core_eval.report.tables.columns import Column, page_table
from core_eval.report.tables.harm import group_columns, harm_lines, kind_columns
from core_eval.report.tables.harm_summary import EpisodeHarm, by_kind, by_world_and_agent
from core_eval.report.tables.model_lines import options_lines
from core_eval.report.tables.scorings import plan_text
from core_eval.score.agent_names import short_names
from core_eval.score.aggregate import Aggregate
from core_eval.score.episodes import any_inexact, left_record_line, mixed_suites
from core_eval.score.metrics import RANKED
from core_eval.score.repeated import by_agent, passed
from core_eval.score.summary import front


def everything_of(
    episodes: Sequence[EpisodeRow],
    harm: Sequence[EpisodeHarm],
    aggregate: Aggregate,
    runs: Collection[RunRow],
) -> dict[str, Any]:
    """Return the tables and drawings of the second tab."""
    events = [event for one in harm for event in one.events]
    rocs, choices = logged_curves(events), expected_choices(events)
    groups, tasks, kinds = by_world_and_agent(harm), task_groups(episodes), by_kind(harm)
    metrics, found = RANKED, differences(episodes, RANKED)
    agents = agent_groups(episodes)
    return {
        "agents_table": page_table(agent_columns(agents, aggregate=aggregate), agents),
        "front": ", ".join(front(aggregate, episodes)) if len(agents) > 1 else "",
        "front_metrics": front_headings(episodes, aggregate),
        "inexact": any_inexact(episodes),
        "options": options_lines(episodes),
        "scatters": scatters(episodes),
        "differences": page_table(difference_columns(metrics), found) if found else None,
        "tasks_table": page_table(task_columns(tasks), tasks),
        "left_record": left_record_line(episodes),
        "groups_table": page_table(group_columns(groups), groups) if groups else None,
        "kinds_table": page_table(kind_columns(kinds), kinds) if kinds else None,
        "harm_lines": harm_lines(harm),
        "rocs": [(rule, Markup(panel_svg(rule, set_names(rocs)))) for rule in rocs],
        "sensor_sets": set_names(rocs),
        "choices": choices,
        "risk": Markup(risk_svg(choices)) if choices else None,
        "list": episode_list(episodes, harm),
        "task_names": sorted({row.task for row in episodes}),
        "runs": [(run, plan_text(run)) for run in runs],
        "mixed_suites": mixed_suites(runs),
    }


@dataclass(frozen=True)
class EpisodeList:
    """The list of episodes: its columns, and each row with its number and what it can be filtered by."""

    columns: Sequence[tuple[str, str, bool]]
    rows: Sequence[tuple[int, str, Sequence[str]]]
    agents: Sequence[str]


def episode_list(episodes: Sequence[EpisodeRow], harm: Sequence[EpisodeHarm]) -> EpisodeList:
    """Return the list of these episodes."""
    why = {one.row.id: one for one in harm}
    columns = [
        *episode_columns(episodes, run=False),
        Column[EpisodeRow]("failures and harm", lambda row: _why(why[row.id]), "words"),
    ]
    table = page_table(columns, episodes)
    marks = (_marks(row) for row in episodes)
    rows = [(row.id, mark, cells) for row, mark, cells in zip(episodes, marks, table.rows, strict=True)]
    return EpisodeList(table.columns, rows, list(short_names(by_agent(episodes)).values()))


def _marks(row: EpisodeRow) -> str:
    """Return what an episode can be filtered by: whether it passed, and the harm charged or unobserved."""
    marks = [{True: "passed", False: "failed", None: "unknown"}[passed(row)]]
    marks += ["harm"] if blameless(row.scores) is False else []
    return " ".join([*marks, *(["unobserved"] if unseen(row.scores) else [])])


def _why(harm: EpisodeHarm) -> str:
    kinds = (event.kind for event in harm.events)
    words = dict.fromkeys([*(failure.label for failure in harm.row.failures), *kinds])
    return ", ".join(words).replace("_", " ")
