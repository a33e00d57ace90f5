"""A log's summary as Markdown, for a pull request."""

from __future__ import annotations

import re
from collections.abc import Sequence

from core_eval.log import EpisodeRow
from core_eval.log.episode_filter import worst_first
from core_eval.report.tables.agent_names import short_names
from core_eval.report.tables.agents import mean_cell, p_text, passed_cell, score_cell, status_text
from core_eval.score.gate import ALL_TASKS, GateChange
from core_eval.score.left_record import left_record_line
from core_eval.score.metrics import BY_NAME, RANKING
from core_eval.score.repeated import by_agent, passed, passes
from core_eval.text.visible_text import visible

COLUMNS = (*RANKING, "final_state_ok")
MOST = 10
"""The maximum number of episodes that are listed."""
MARKUP = re.compile(r"[\\`*\[\]<>|&@#]|(?<!\w)_|_(?!\w)")
"""What Markdown reads as markup, a mention or a reference."""
SIGNS = {"worse": "❌ worse", "better": "✅ better", "missing": "❌ not run", "new": "new"}


def summary_markdown(episodes: Sequence[EpisodeRow]) -> str:
    """Return a table of agents, and one of the episodes that did not pass, the most harmful first."""
    headings = [BY_NAME[name].heading for name in COLUMNS]
    agents = by_agent(episodes)
    names = short_names(agents)
    lines = _table(
        ["agent", "passed", *headings],
        [
            [names[agent], passed_cell(rows), *(mean_cell(rows, name) for name in COLUMNS)]
            for agent, rows in agents.items()
        ],
    )
    failed = sorted((row for row in episodes if not passed(row)), key=worst_first)
    if failed:
        unknown = passes(failed)[None]
        known = f" ({unknown} of them: not known)" if unknown else ""
        lines += ["", f"{len(failed)} of {len(episodes)} episodes did not pass{known}:", ""]
        lines += _table(
            ["episode", "task", "agent", "seed", "status", *headings],
            [
                [
                    str(row.id),
                    visible(row.task),
                    names[row.agent],
                    str(row.seed),
                    status_text(row).plain,
                    *(score_cell(row.scores, name) for name in COLUMNS),
                ]
                for row in failed[:MOST]
            ],
        )
        if len(failed) > MOST:
            lines += ["", f"and {len(failed) - MOST} more"]
    if (left := left_record_line(episodes)) is not None:
        lines += ["", _cell(left)]
    return "\n".join(lines) + "\n"


def changes_markdown(changes: Sequence[GateChange]) -> str:
    """Return what changed against a baseline, and how small a change would have been seen."""
    shown = [one for one in changes if one.verdict not in ("same", "not tested")]
    names = short_names(one.agent for one in changes)
    rows = [
        [SIGNS[one.verdict], visible(one.task), names[one.agent], heading(one.metric), *figures(one)]
        for one in shown
    ]
    told = _table(["", "task", "agent", "metric", "before", "now", "p"], rows)
    lines = told if shown else ["No change against the baseline."]
    lines += [line for told in power_lines(changes) for line in ("", _cell(told))]
    return "\n".join(lines) + "\n"


def power_lines(changes: Sequence[GateChange]) -> list[str]:
    """Return a line for each agent that acts by chance: which changes to the worse its tests mostly tell."""
    names = short_names(one.agent for one in changes)
    lines = []
    for agent in dict.fromkeys(one.agent for one in changes if one.task == ALL_TASKS):
        own = [one for one in changes if one.agent == agent and one.task == ALL_TASKS]
        told = ", ".join(
            f"{heading(one.metric)} by {one.detectable:.2g}" for one in own if one.detectable is not None
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
    return [*shown, p_text(change.p)]


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a Markdown table; foreign text cannot end a cell or become markup."""
    cells = [[_cell(text) for text in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in ([*headings], ["---"] * len(headings), *cells)]


def _cell(text: str) -> str:
    return MARKUP.sub(lambda mark: f"&#{ord(mark[0])};", text).replace("\n", "<br>")
