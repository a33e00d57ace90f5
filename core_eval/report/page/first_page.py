"""What a reader of the report sees first: agents, worlds, and the worst episodes with a picture each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from core_eval.log import EpisodeRow, LogReader, RunRow, charged, unseen
from core_eval.log.episode_filter import worst_first
from core_eval.path.calls import StepKind
from core_eval.report.pictures.call_strip import call_strip
from core_eval.report.pictures.field_shapes import driven_way, field_of
from core_eval.report.pictures.field_view import field_view
from core_eval.report.tables.agents import Group, agent_groups, aside_cell
from core_eval.report.tables.harm_summary import EpisodeHarm
from core_eval.report.tables.texts import expected_calls, mean_cell
from core_eval.report.tables.worlds import world_of, worlds
from core_eval.score.episodes import counted
from core_eval.score.outcome import worst_of
from core_eval.score.repeated import by_agent, passed, passes
from core_eval.score.summary import mean

WORST = 10


@dataclass(frozen=True, slots=True)
class AgentLine:
    """An agent's row: shares of its episodes of tasks that need a call, %, and what is to be known of them.

    Attributes:
        name, whole: its name in tables, and in full.
        good, bad, unknown: the shares that passed, did not, and of which that is not known.
        passed: how many of the tasks that need a call passed, in words.
        others: how many of the other tasks, in words; empty without such.
        pc: mean path correctness with its interval.
        charged, unseen: how many episodes have harm that is charged, and harm that the sensors miss.
    """

    name: str
    whole: str
    good: float
    bad: float
    unknown: float
    passed: str
    others: str
    pc: str
    charged: int
    unseen: int


@dataclass(frozen=True, slots=True)
class WorstEpisode:
    """One of the worst episodes, why it is, its map if it has one, and its calls."""

    row: EpisodeRow
    passed: bool | None
    why: str
    map: Markup | None
    calls: Markup


def agent_lines(episodes: Sequence[EpisodeRow]) -> list[AgentLine]:
    """Return a row for each agent, in the order in which they first acted, baselines last."""
    return [_line(group) for group in agent_groups(episodes)]


def _line(group: Group) -> AgentLine:
    tries = counted(group.rows)
    results = passes(tries)
    full = max(1, len(tries)) / 100.0
    return AgentLine(
        group.name.replace("\n", " "),
        group.agent,
        good=results[True] / full,
        bad=results[False] / full,
        unknown=results[None] / full,
        passed=f"{results[True]} of {len(tries)}",
        others=", ".join(f"{heading} {aside_cell(heading, group)}" for heading in group.tried_aside),
        pc=mean_cell(group.rows, "path_correctness").replace("\n", " "),
        charged=sum(bool(charged(row.scores)) for row in group.every),
        unseen=sum(bool(unseen(row.scores)) for row in group.every),
    )


def worst_episodes(
    reader: LogReader,
    episodes: Sequence[EpisodeRow],
    harm: Callable[[EpisodeRow], EpisodeHarm],
) -> list[WorstEpisode]:
    """Return the worst of the episodes that did not pass, as many as `WORST`; see `worst_of`."""
    bad = [row for row in worst_of(episodes) if passed(row) is False]
    return [_worst(reader, row, harm(row)) for row in bad[:WORST]]


def _worst(reader: LogReader, row: EpisodeRow, harm: EpisodeHarm) -> WorstEpisode:
    steps, truth = reader.steps(row.id), reader.truth(row.id)
    driven = driven_way(truth)
    field = field_of(row, steps, truth, () if truth else reader.samples(row.id), [at for _, at in driven])
    wrong = next((step for step in steps if step.kind == StepKind.HARMFUL), None)
    automaton = reader.automaton(row)
    due = "" if wrong is None or automaton is None else expected_calls(automaton, wrong.state_before)
    kinds = dict.fromkeys(event.kind for event in harm.counted)
    return WorstEpisode(
        row,
        passed(row),
        ", ".join([*kinds, *(failure.label for failure in row.failures)]).replace("_", " "),
        None if field is None else Markup(field_view(field, steps, harm.counted).svg),
        Markup(call_strip(steps, due)),
    )


@dataclass(frozen=True, slots=True)
class GridCell:
    """Some episodes of one agent.

    Attributes:
        text: how many passed; of a single episode its path correctness.
        shade: from `b2` (bad) over `n` to `g2` (good).
        charged, unseen: how many episodes have harm that is charged, and harm that the sensors miss.
        worst: the episode to look at first.
    """

    text: str
    shade: str
    charged: int
    unseen: int
    worst: int


@dataclass(frozen=True, slots=True)
class GridRow:
    """A world or a task, with a cell for each agent; None where it did not try it."""

    name: str
    cells: tuple[GridCell | None, ...]


@dataclass(frozen=True, slots=True)
class WorldRows:
    """A world, and its tasks."""

    world: GridRow
    tasks: tuple[GridRow, ...]


def world_grid(episodes: Sequence[EpisodeRow]) -> list[WorldRows]:
    """Return the worlds by name, each with its tasks."""
    agents = tuple(by_agent(episodes))
    found = []
    for world in worlds(episodes):
        own = [row for row in episodes if world_of(row) == world]
        tasks: dict[str, list[EpisodeRow]] = {}
        for row in own:
            tasks.setdefault(row.task, []).append(row)
        ordered = sorted(tasks, key=lambda task: _trouble(tasks[task]))
        rows = tuple(_row(task, tasks[task], agents) for task in ordered)
        found.append(WorldRows(_row(world, own, agents), rows))
    return found


def _row(name: str, episodes: Sequence[EpisodeRow], agents: Sequence[str]) -> GridRow:
    groups = by_agent(episodes)
    return GridRow(name, tuple(_cell(groups[agent]) if agent in groups else None for agent in agents))


def _trouble(rows: Sequence[EpisodeRow]) -> tuple[float, ...]:
    """Return a key that sorts tasks by charged and unseen harm, then by what did not pass."""
    return (
        -sum(charged(row.scores) or 0.0 for row in rows),
        -sum(unseen(row.scores) or 0.0 for row in rows),
        passes(rows)[True] / len(rows),
        sum(row.scores.get("path_correctness") or 0.0 for row in rows) / len(rows),
    )


def _cell(rows: Sequence[EpisodeRow]) -> GridCell:
    tries = counted(rows)
    results, value = passes(tries), mean(rows, "path_correctness")
    share = None if not tries or results[None] else results[True] / len(tries)
    if share is not None and len(tries) == 1 and value is not None and not share:
        share = 0.4 * value
    text = f"{results[True]}/{len(tries)}"
    if len(rows) == 1:
        text = "-" if value is None else f"{value:.2f}"
    return GridCell(
        text=text,
        shade="n" if share is None else ("b2", "b1", "n", "g1", "g2")[min(4, int(share * 5))],
        charged=sum(bool(charged(row.scores)) for row in rows),
        unseen=sum(bool(unseen(row.scores)) for row in rows),
        worst=min(rows, key=worst_first).id,
    )


def about(episodes: Sequence[EpisodeRow], runs: Iterable[RunRow]) -> str:
    """Return how many episodes, tasks, worlds and agents there are, and of when."""
    counts = {
        "episode": len(episodes),
        "task": len({row.task for row in episodes}),
        "world": len(worlds(episodes)),
        "agent": len(by_agent(episodes)),
    }
    told = [f"{count:,} {name}{'' if count == 1 else 's'}" for name, count in counts.items()]
    days = sorted({time.strftime("%-d %b %Y", time.gmtime(run.created)) for run in runs})
    return f"{told[0]}: {', '.join(told[1:])}{' · ' if days else ''}{', '.join(days[:3])}"
