"""The tables of a run, in the order in which a terminal shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from core_eval.log import EpisodeRow
from core_eval.report.tables import agents
from core_eval.report.tables.fitted_table import Hanging
from core_eval.report.tables.worlds import harm_table, path_table, worlds
from core_eval.score.aggregate import Aggregate, load_aggregate
from core_eval.score.episodes import INEXACT_NOTE, inexact_json, left_record_line
from core_eval.score.outcome import outcome


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
        INEXACT_NOTE if inexact_json(episodes) else None,
        Hanging(Text(outcome(episodes), style="bold"), 0),
    ):
        if one is not None:
            yield one
