"""The report's list of episodes, which a reader filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core_eval.log import EpisodeRow, blameless, unseen
from core_eval.report.tables.agents import (
    episode_columns,
)
from core_eval.report.tables.columns import Column, page_table
from core_eval.report.tables.harm_summary import EpisodeHarm
from core_eval.score.agent_names import short_names
from core_eval.score.repeated import by_agent, passed


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
