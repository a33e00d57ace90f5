"""Comparisons of two sets of episodes as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from rich.text import Text

from core_eval.log import EpisodeRow
from core_eval.report.tables.agents import passed_text
from core_eval.report.tables.columns import Column, terminal_table
from core_eval.report.tables.fitted_table import Table
from core_eval.report.tables.texts import detectable_text, difference_text, mean_cell, p_text
from core_eval.report.tables.values import cell
from core_eval.score.comparison import Start
from core_eval.score.contrast import Contrast, Grid, Lone, StartChange
from core_eval.score.episodes import counted
from core_eval.score.metrics import BY_NAME, RANKING
from core_eval.text.visible_text import visible

MOST_CHANGES = 10
"""Changes of one comparison that a terminal shows, the largest first."""
MOST_LONE = 20
STYLES = {"better": "green", "worse": "bold red"}
MEANING = (
    "Differences are the second less the first, over pairs of the same task, seed and start, with their 95 % "
    "interval over tasks. Better, worse: p below 0.05, by a paired t test, corrected for all comparisons "
    "here (Holm). d: in standard deviations. Sees: what such a comparison tells in 4 of 5 cases."
)


def grid_table(grid: Grid) -> Table:
    """Return path correctness and passed episodes of each model in each scaffold."""
    scaffolds = list(dict.fromkeys(name for own in grid.values() for name in own))
    table = Table("PC of model", *scaffolds, numbers=scaffolds)
    for model, own in grid.items():
        table.add_row(visible(model), *(grid_cell(own[name]) if name in own else "-" for name in scaffolds))
    return table


def grid_cell(episodes: Sequence[EpisodeRow]) -> str:
    """Return the mean path correctness, and how many episodes passed."""
    return f"{mean_cell(episodes, 'path_correctness')}\n{passed_text(counted(episodes))} passed"


def contrast_title(one: Contrast) -> Text:
    """Return what is compared, and over how many pairs."""
    pairs = "1 pair" if one.pairs == 1 else f"{one.pairs} pairs"
    return Text(visible(f"{one.before} to {one.after}: {pairs}"), style="bold")


def metric_columns(one: Contrast) -> list[Column[str]]:
    """Return the columns of a comparison's table of metrics, whose rows are their names."""
    differences = one.differences
    return [
        Column("metric", lambda name: BY_NAME[name].heading, "name"),
        Column("first", lambda name: cell(name, one.means[name][0])),
        Column("second", lambda name: cell(name, one.means[name][1])),
        Column("difference", lambda name: difference_text(differences[name], name)),
        Column("d", lambda name: _effect(differences[name].effect_size()), leaves=1, more=True),
        Column("p", lambda name: p_text(differences[name].p)),
        Column("sees", lambda name: detectable_text(name, differences[name].detectable), leaves=2, more=True),
        Column("verdict", lambda name: Text(word := one.verdict(name), style=STYLES.get(word, "")), "words"),
    ]


def known_metrics(one: Contrast) -> list[str]:
    """Return the metrics that at least one pair has."""
    return [name for name, difference in one.differences.items() if difference.mean is not None]


def metrics_table(one: Contrast) -> Table:
    """Return each metric before and after, with the difference and whether that is better."""
    return terminal_table(metric_columns(one), known_metrics(one))


def changes_table(one: Contrast) -> Table | None:
    """Return the pairs that changed most, with the episodes behind them; None where none changed."""
    if not one.changes:
        return None
    columns: list[Column[StartChange]] = [
        Column("changed task", lambda change: start_name(change.start), "name"),
        Column("seed", lambda change: str(change.start[1])),
        Column("episodes", lambda one: f"{numbers_text(one.before)} to {numbers_text(one.after)}"),
        *(Column(BY_NAME[name].heading, partial(change_text, name)) for name in RANKING),
    ]
    table = terminal_table(columns, one.changes[:MOST_CHANGES])
    rest = len(one.changes) - MOST_CHANGES
    if rest > 0:
        table.caption = f"and {rest} more; --json and -o have all"
    return table


def change_text(metric: str, change: StartChange) -> str:
    """Return a metric of a pair before and after."""
    return arrow(*(cell(metric, value) for value in change.values[metric]))


def _effect(effect: float | None) -> str:
    return "-" if effect is None else f"{effect:+.1f}"


def lone_lines(one: Contrast) -> list[Text]:
    """Return lines that name the episodes without a counterpart."""
    return [
        Text(visible(f"only in {name}: {lone_text(lone)}"), style="yellow")
        for name, lone in ((one.before, one.only_before), (one.after, one.only_after))
        if lone
    ]


def lone_text(lone: Sequence[Lone], most: int = MOST_LONE) -> str:
    """Return episodes without a counterpart, by task and seed."""
    named = [
        f"{start_name(each.start)} seed {each.start[1]} ({numbers_text(each.episodes)})"
        for each in lone[:most]
    ]
    rest = len(lone) - len(named)
    return ", ".join(named) + (f" and {rest} more; --json and -o have all" if rest else "")


def start_name(start: Start) -> str:
    """Return a task's name, with the overrides of its start."""
    return visible(start[0] if start[2] == "{}" else f"{start[0]} {start[2]}")


def numbers_text(episodes: Iterable[int]) -> str:
    """Return the numbers of episodes."""
    return ", ".join(f"#{number}" for number in episodes)


def arrow(before: str, after: str) -> str:
    """Return a value before and after; one where they are equal."""
    return before if before == after else f"{before} to {after}"
