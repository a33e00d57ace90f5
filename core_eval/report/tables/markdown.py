"""A log's summary as Markdown, for a pull request."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from core_eval.log import EpisodeRow
from core_eval.report.tables.agents import agent_columns, agent_groups, episode_columns, passed_cell
from core_eval.report.tables.columns import Column, markdown_table, markdown_text
from core_eval.report.tables.texts import p_text
from core_eval.score.agent_names import short_names
from core_eval.score.episodes import left_record_line
from core_eval.score.gate import ALL_TASKS, GateChange
from core_eval.score.metrics import BY_NAME, RANKING
from core_eval.score.outcome import outcome, without_baselines, worst_of
from core_eval.score.repeated import passed, passes
from core_eval.text.visible_text import visible

COLUMNS = (*RANKING, "final_state_ok")
MOST = 10
"""The maximum number of episodes that are listed."""
SIGNS = {"worse": "❌ worse", "better": "✅ better", "missing": "❌ not run", "new": "new"}


def summary_markdown(episodes: Sequence[EpisodeRow]) -> str:
    """Return the outcome, a table of agents, and one of the episodes that did not pass, the worst first."""
    groups = agent_groups(episodes)
    agents = agent_columns(groups, COLUMNS)
    agents[1] = Column("passed", lambda group: passed_cell(group.rows))
    lines = [markdown_text(outcome(episodes)), "", *markdown_table(agents, groups)]
    told = without_baselines(episodes)
    failed = [row for row in told if not passed(row)]
    if failed:
        unknown = passes(failed)[None]
        known = f" ({unknown} of them: not known)" if unknown else ""
        lines += ["", f"{len(failed)} of {len(told)} episodes did not pass{known}:", ""]
        listed = worst_of(failed)[:MOST]
        lines += markdown_table(episode_columns(episodes, COLUMNS, run=False), listed)
        if len(failed) > len(listed):
            lines += ["", f"and {len(failed) - len(listed)} more"]
    if (left := left_record_line(episodes)) is not None:
        lines += ["", markdown_text(left)]
    return "\n".join(lines) + "\n"


def changes_markdown(changes: Sequence[GateChange]) -> str:
    """Return what changed against a baseline, and how small a change would have been seen."""
    shown = [one for one in changes if one.verdict not in ("same", "not tested")]
    names = short_names(one.agent for one in changes)
    columns: list[Column[GateChange]] = [
        Column("", lambda one: SIGNS[one.verdict]),
        Column("task", lambda one: visible(one.task)),
        Column("agent", lambda one: names[one.agent]),
        Column("metric", lambda one: heading(one.metric)),
        *(Column(name, partial(_figure, k)) for k, name in enumerate(("before", "now", "p"))),
    ]
    lines = markdown_table(columns, shown) if shown else ["No change against the baseline."]
    lines += [line for told in power_lines(changes) for line in ("", markdown_text(told))]
    return "\n".join(lines) + "\n"


def power_lines(changes: Sequence[GateChange]) -> list[str]:
    """Return a line for each agent that acts by chance: which changes to the worse its tests mostly tell."""
    names = short_names(one.agent for one in changes)
    lines = []
    for agent in dict.fromkeys(one.agent for one in changes if one.task == ALL_TASKS):
        own = [one for one in changes if one.agent == agent and one.task == ALL_TASKS]
        told = ", ".join(
            f"{heading(one.metric)} by {least:.2g}"
            for one in own
            if (least := one.worsening.detectable) is not None
        )
        if told:
            lines.append(f"{names[agent]}: told in 4 of 5 cases: {told}")
        if any(one.verdict == "not tested" for one in own):
            lines.append(f"{names[agent]}: not tested: needs three tasks, or three tries of a single one")
    return lines


def heading(metric: str) -> str:
    """Return a metric's heading; `episodes` is none of them."""
    return BY_NAME[metric].heading if metric in BY_NAME else metric


def figures(change: GateChange) -> list[str]:
    """Return the values before and now, and the p-value."""
    shown = ["-" if value is None else f"{value:.4g}" for value in (change.before, change.now)]
    return [*shown, p_text(change.worsening.p)]


def _figure(k: int, change: GateChange) -> str:
    return figures(change)[k]
