"""Comparisons of two sets of episodes as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.text import Text

from core_eval.log import EpisodeRow
from core_eval.report.tables.agents import (
    cell,
    detectable_text,
    difference_text,
    mean_cell,
    p_text,
    passed_text,
    plain_table,
)
from core_eval.report.tables.fitted_table import Table
from core_eval.score.comparison import Start
from core_eval.score.contrast import Contrast, Grid, Lone
from core_eval.score.counted import counted
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
    table = plain_table("PC of model", *scaffolds, numbers=scaffolds)
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


def metrics_table(one: Contrast) -> Table:
    """Return each metric before and after, with the difference and whether that is better."""
    numbers = ("first", "second", "difference", "d", "p", "sees")
    table = plain_table("metric", *numbers, "verdict", optional=("d", "sees"), numbers=numbers)
    for name, difference in one.differences.items():
        if difference.mean is None:
            continue
        before, after = one.means[name]
        word, effect = one.verdict(name), difference.effect_size()
        table.add_row(
            BY_NAME[name].heading,
            cell(name, before),
            cell(name, after),
            difference_text(difference, name),
            "-" if effect is None else f"{effect:+.1f}",
            p_text(one.p_values.get(name)),
            detectable_text(name, one.detectable.get(name)),
            Text(word, style=STYLES.get(word, "")),
        )
    return table


def changes_table(one: Contrast) -> Table | None:
    """Return the pairs that changed most, with the episodes behind them; None where none changed."""
    if not one.changes:
        return None
    metrics = [BY_NAME[name].heading for name in RANKING]
    table = plain_table("changed task", "seed", "episodes", *metrics, numbers=("seed", "episodes", *metrics))
    for change in one.changes[:MOST_CHANGES]:
        cells = (arrow(*(cell(name, value) for value in change.values[name])) for name in RANKING)
        episodes = f"{numbers_text(change.before)} to {numbers_text(change.after)}"
        table.add_row(start_name(change.start), str(change.start[1]), episodes, *cells)
    rest = len(one.changes) - MOST_CHANGES
    if rest > 0:
        table.caption = f"and {rest} more; --json and -o have all"
    return table


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
