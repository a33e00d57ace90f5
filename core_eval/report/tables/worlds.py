"""The tables of a run, in their order; and those of many worlds, a row for each world and agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rich.console import RenderableType
from rich.text import Text

from core_eval.log import EpisodeRow
from core_eval.report.tables import agents
from core_eval.report.tables.agents import TaskGroup, episodes_cell
from core_eval.report.tables.columns import Column, terminal_table
from core_eval.report.tables.fitted_table import Hanging, Table
from core_eval.score.agent_names import short_names
from core_eval.score.aggregate import Aggregate, load_aggregate
from core_eval.score.episodes import (
    INEXACT_NOTE,
    any_inexact,
    counted,
    left_record_line,
    marked,
)
from core_eval.score.outcome import baselines_last, headline, outcome
from core_eval.score.repeated import by_agent, spread
from core_eval.score.summary import mean
from core_eval.text.visible_text import visible

ALL = "all"
Cell = Callable[[Sequence[EpisodeRow]], str]


def world_of(episode: EpisodeRow) -> str:
    """Return the world of an episode; of a rig that nothing simulates, its device type."""
    return episode.world or episode.device


def worlds(episodes: Sequence[EpisodeRow]) -> list[str]:
    """Return the worlds of the episodes, in the order of their names."""
    return sorted({world_of(row) for row in episodes})


def harm_table(episodes: Sequence[EpisodeRow]) -> Table:
    """Return harmful calls (total and mean), efficiency, length, harm events and unobserved ones a world."""
    return _table(
        episodes,
        {
            "harm total": _total("harmful_calls"),
            "mean": _mean("harmful_calls", "{:.2f}"),
            "efficiency": _mean("efficiency"),
            "length": _mean("calls", "{:.1f}"),
            "events": _total("harm_events"),
            "excess cost": _mean("excess_cost", "{:.2f}"),
            "unobserved %": _unobserved,
        },
        optional=("length", "events"),
    )


def path_table(episodes: Sequence[EpisodeRow]) -> Table:
    """Return path correctness and its variants, and the share of right end states and responses, a world."""
    return _table(
        episodes,
        {
            "PC": _mean("path_correctness"),
            "PC-KTC": _mean("pc_ktc"),
            "PrefixCrit": _mean("prefix_criticality"),
            "PC+HLR": _mean("path_correctness_hlr"),
            "state %": _percent("final_state_ok"),
            "response %": _percent("response_ok"),
        },
        optional=("PC+HLR", "PC-KTC"),
    )


def _table(episodes: Sequence[EpisodeRow], cells: dict[str, Cell], optional: Sequence[str]) -> Table:
    names, compared = short_names(row.agent for row in episodes), headline(episodes)
    apart = baselines_last(row.agent for row in compared)
    rows = [
        (world, names[agent], own[agent])
        for world in [*worlds(compared), ALL]
        for own in [by_agent([row for row in compared if world in (world_of(row), ALL)])]
        for agent in apart
        if agent in own
    ]
    leaving = ("episodes", *optional)
    columns: list[Column[TaskGroup]] = [
        Column("world", lambda row: visible(row[0]), "name"),
        Column("agent", lambda row: row[1], "name"),
        Column("episodes", lambda row: episodes_cell(row[2]), leaves=1),
        *(
            Column(
                heading,
                partial(_cell, cell),
                leaves=leaving.index(heading) + 1 if heading in leaving else 0,
            )
            for heading, cell in cells.items()
        ),
    ]
    return terminal_table(columns, rows)


def _cell(cell: Cell, row: TaskGroup) -> str:
    return cell(row[2])


def _mean(metric: str, form: str = "{:.3f}") -> Cell:
    def cell(rows: Sequence[EpisodeRow]) -> str:
        found = spread(rows, metric)
        return "-" if found.mean is None else marked(form.format(found.mean), found)

    return cell


def _percent(metric: str) -> Cell:
    def cell(rows: Sequence[EpisodeRow]) -> str:
        value = mean(rows, metric)
        return "-" if value is None else f"{100 * value:.0f}"

    return cell


def _unobserved(rows: Sequence[EpisodeRow]) -> str:
    """The share of the charged cost that nothing shows, of the episodes where both are known."""
    known = [row.scores for row in rows if row.scores.get("unobserved_cost") is not None]
    cost = sum(scores.get("excess_cost") or 0.0 for scores in known)
    return f"{100 * sum(scores['unobserved_cost'] or 0.0 for scores in known) / cost:.0f}" if cost else "-"


def _total(metric: str) -> Cell:
    def cell(rows: Sequence[EpisodeRow]) -> str:
        values = [value for row in counted(rows, metric) if (value := row.scores.get(metric)) is not None]
        return f"{sum(values):.0f}" if values else "-"

    return cell


def run_tables(
    episodes: Sequence[EpisodeRow], aggregate: Aggregate | None = None, *, brief: bool = False
) -> Iterator[RenderableType]:
    """Yield the tables of tasks, worlds and agents, their differences and Pareto front, and the outcome.

    Args:
        episodes: those of the run.
        aggregate: how agents are compared, with a column of the gated minimum; None: as usual, without.
        brief: leave out the tables with a row for each task or world.
    """
    several_worlds = len(worlds(episodes)) > 1 and not brief
    for one in (
        None if brief else agents.tasks_table(episodes),
        harm_table(episodes) if several_worlds else None,
        path_table(episodes) if several_worlds else None,
        agents.agents_table(episodes, aggregate),
        agents.repeats_line(episodes),
        agents.disturbed_line(episodes),
        agents.comparisons_table(episodes),
        agents.front_line(episodes, aggregate or load_aggregate()),
        agents.agents_legend(episodes),
        left_record_line(episodes),
        INEXACT_NOTE if any_inexact(episodes) else None,
        Hanging(Text(outcome(episodes), style="bold"), 0),
    ):
        if one is not None:
            yield one
