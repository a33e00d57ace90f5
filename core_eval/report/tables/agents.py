"""Tables for a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from rich.text import Text

from core_eval.log import CHARGED, EpisodeRow
from core_eval.report.tables.columns import Column, terminal_table
from core_eval.report.tables.fitted_table import Table
from core_eval.report.tables.texts import difference_text, mean_cell, p_text, score_cell, status_text
from core_eval.report.tables.values import LEAVING
from core_eval.score.agent_names import legend, short_names
from core_eval.score.aggregate import Aggregate
from core_eval.score.contrast import Contrast, comparisons, judged
from core_eval.score.episodes import (
    MARK,
    NO_CALL,
    counted,
    distinct_episodes,
    disturbed,
    is_inexact,
    without_call,
)
from core_eval.score.metrics import BY_NAME, RANKING, TABLE
from core_eval.score.outcome import ASIDE, aside, baselines_last, headline, without_baselines
from core_eval.score.repeated import by_agent, by_task_and_agent, pass_k, passes, worst_case
from core_eval.score.summary import front, gated_value, means
from core_eval.statistics.estimates import Estimate
from core_eval.text.visible_text import visible

STATUS_WIDTH = 10
BASELINE = "(baseline)"
SHOWN_TRIES = ("1", "2", "4", "8")
TASKS_TABLE = RANKING
MOST_PAIRS = 6
"""Maximum number of compared pairs, those of four agents; more agents are compared with the first only."""


class Group(NamedTuple):
    """An agent in a table.

    Attributes:
        agent: its whole name.
        name: in tables; of a baseline beside models it says so.
        every: all its episodes.
        rows: its episodes of tasks that need a call.
        aside: its episodes of the other tasks, by the heading of their column.
    """

    agent: str
    name: str
    every: Sequence[EpisodeRow]
    rows: Sequence[EpisodeRow]
    aside: Mapping[str, Sequence[EpisodeRow]]

    @property
    def tried_aside(self) -> list[str]:
        """The headings under which it has episodes."""
        return [heading for heading, rows in self.aside.items() if rows]


def agent_groups(episodes: Sequence[EpisodeRow]) -> list[Group]:
    """Return the rows of the table of agents, baselines last."""
    agents, need_calls = by_agent(episodes), by_agent(headline(episodes))
    names = short_names(agents)
    return [
        Group(
            agent,
            f"{names[agent]}\n{BASELINE}" if apart else names[agent],
            agents[agent],
            need_calls.get(agent, []),
            aside(agents[agent]),
        )
        for agent, apart in baselines_last(agents).items()
    ]


def _metrics(episodes: Iterable[EpisodeRow]) -> Sequence[str]:
    """Return the metrics of a table: of imported episodes the reward as well."""
    rewarded = any(row.scores.get("reward") is not None for row in episodes)
    return (*TABLE, "reward") if rewarded else TABLE


def agent_columns(
    groups: Sequence[Group], metrics: Sequence[str] | None = None, aggregate: Aggregate | None = None
) -> list[Column[Group]]:
    """Return the columns of the table of agents: means, with their intervals if there are several tries.

    They are over tasks that need a call. Where there are others, those have columns of their own.
    """
    metrics = _metrics(row for group in groups for row in group.rows) if metrics is None else metrics
    gated: list[Column[Group]] = []
    if aggregate is not None:
        gated = [Column("gated min", lambda group: _gated(aggregate, group.rows), more=True)]
    others = [heading for heading in ASIDE if any(heading in group.tried_aside for group in groups)]
    return [
        Column("agent", lambda group: group.name, "name"),
        Column("episodes", lambda group: episodes_cell(group.rows)),
        *(
            Column(BY_NAME[m].heading, partial(_mean_of, m), leaves=_leaves(m), more=m not in RANKING)
            for m in (*metrics, *(["over_refusal"] if others else []))
        ),
        *(Column(heading, partial(aside_cell, heading)) for heading in others),
        *gated,
    ]


def _mean_of(metric: str, group: Group) -> str:
    return mean_cell(group.rows, metric)


def aside_cell(heading: str, group: Group) -> str:
    """Return how many episodes of the tasks under a heading of `ASIDE` passed."""
    return passed_text(group.aside[heading]) if group.aside[heading] else "-"


def _leaves(metric: str) -> int:
    """Return the place of a metric among those that a narrow table omits; 0 for one that stays."""
    heading = BY_NAME[metric].heading
    return LEAVING.index(heading) + 1 if heading in LEAVING else 0


def _gated(aggregate: Aggregate, rows: Sequence[EpisodeRow]) -> str:
    value = gated_value(aggregate, rows)
    inexact = any(is_inexact(row.scores, name) for row in rows for name in aggregate.content.weights)
    return "-" if value is None else f"{MARK * inexact}{value:.3f}"


def agents_table(episodes: Sequence[EpisodeRow], aggregate: Aggregate | None = None) -> Table:
    """Return means per agent, with their 95 % intervals where several episodes are behind them."""
    groups = agent_groups(episodes)
    return terminal_table(agent_columns(groups, aggregate=aggregate), groups)


def episodes_cell(episodes: Sequence[EpisodeRow]) -> str:
    """Return how many episodes there are, and what is to be known of them."""
    return "\n".join([str(len(episodes)), *_marks(episodes)])


def agents_legend(episodes: Sequence[EpisodeRow]) -> Text | None:
    """Return which agents stand behind names that two would share; None where no two would."""
    lines = legend(short_names(by_agent(episodes)))
    return Text("\n".join(lines)) if lines else None


def repeats_line(episodes: Sequence[EpisodeRow]) -> Text | None:
    """Return what `distinct` means, where some episodes are identical."""
    if all(distinct_episodes(own) == len(own) for own in map(counted, by_agent(episodes).values())):
        return None
    return Text(
        "distinct: identical episodes (same calls, same results) count once in intervals; "
        "`run --vary` makes repeats differ"
    )


def disturbed_line(episodes: Sequence[EpisodeRow]) -> Text | None:
    """Return what `disturbed` means, and the means if such episodes count as the worst; None without any."""
    agents = by_agent(episodes)
    names = short_names(agents)
    worst = {names[agent]: found for agent, own in agents.items() if (found := worst_case(own))}
    if not worst:
        return None
    shown = ", ".join(f"{name} {found['path_correctness']:.2f}" for name, found in worst.items())
    return Text(
        "disturbed: a fault of rig, link or host; such episodes count for harm alone. PC if each had gone as "
        f"badly as can be: {shown}"
    )


Difference = tuple[str, Contrast]
"""The names of two agents, and their comparison."""


def differences(episodes: Sequence[EpisodeRow], metrics: Sequence[str]) -> list[Difference]:
    """Return the paired differences of agents; of many agents those of the first and each other one."""
    found = comparisons(headline(episodes), metrics)
    if len(found) > MOST_PAIRS:
        found = [one for one in found if one.after == found[0].after]
    names = short_names(by_agent(episodes))
    return [(f"{names[one.after]} -\n{names[one.before]}", one) for one in judged(found)]


def difference_columns(metrics: Sequence[str]) -> list[Column[Difference]]:
    """Return the columns of the table of differences."""
    return [
        Column("difference", lambda one: one[0], "name"),
        Column("pairs", lambda one: str(one[1].pairs)),
        *(Column(BY_NAME[m].heading, partial(_difference_of, m), more=m not in RANKING) for m in metrics),
    ]


def _difference_of(metric: str, one: Difference) -> str:
    return difference_cell(one[1].differences[metric], metric)


def comparisons_table(episodes: Sequence[EpisodeRow]) -> Table | None:
    """Return the table of differences; None where no two agents ran the same task with the same seed."""
    found = differences(episodes, TASKS_TABLE)
    return terminal_table(difference_columns(TASKS_TABLE), found) if found else None


def difference_cell(difference: Estimate, name: str) -> str:
    """Return a difference, and below it its interval and its corrected p-value."""
    text = difference_text(difference, name, "\n")
    return text if difference.p is None else f"{text}\np {p_text(difference.p)}"


TaskGroup = tuple[str, str, Sequence[EpisodeRow]]
"""A task, an agent's name in tables, and the episodes of both."""


def task_groups(episodes: Sequence[EpisodeRow]) -> list[TaskGroup]:
    """Return the rows of the table of tasks."""
    groups = by_task_and_agent(episodes)
    names = short_names(agent for _, agent in groups)
    return [(task, names[agent], rows) for (task, agent), rows in groups.items()]


def task_columns(groups: Sequence[TaskGroup]) -> list[Column[TaskGroup]]:
    """Return the columns of the table of tasks, with pass^k for the numbers of tries that some task has."""
    chances = {(task, agent): pass_k(rows) or {} for task, agent, rows in groups}
    shown = [k for k in SHOWN_TRIES if any(k in own for own in chances.values())]
    leaving = ("pass^4", "pass^2", "pass^1", "pass^8")

    def chance(k: str, group: TaskGroup) -> str:
        own = chances[group[0], group[1]]
        return f"{own[k]:.2f}" if k in own else "-"

    return [
        Column("task", lambda group: visible(group[0]), "name"),
        Column("agent", lambda group: group[1], "name"),
        Column("passed", lambda group: passed_cell(group[2])),
        *(Column(BY_NAME[m].heading, partial(_task_mean, m), leaves=_task_leaves(m)) for m in TASKS_TABLE),
        *(
            Column(f"pass^{k}", partial(chance, k), leaves=leaving.index(f"pass^{k}") + 1, more=True)
            for k in shown
        ),
    ]


def _task_mean(metric: str, group: TaskGroup) -> str:
    return mean_cell(group[2], metric)


def _task_leaves(metric: str) -> int:
    return {CHARGED: 5, "harmful_calls": 6}.get(metric, 0)


def tasks_table(episodes: Sequence[EpisodeRow]) -> Table | None:
    """Return each task with each agent, and pass^k; None where nothing was tried twice."""
    groups = task_groups(episodes)
    if all(len(counted(rows)) < 2 for *_, rows in groups):
        return None
    return terminal_table(task_columns(groups), groups)


def passed_cell(episodes: Sequence[EpisodeRow]) -> str:
    """Return how many passed, of how many that count, and what is to be known of them."""
    return "\n".join([passed_text(counted(episodes)), *_marks(episodes)])


def passed_text(episodes: Sequence[EpisodeRow]) -> str:
    """Return how many of some episodes passed, and of how many that is not known."""
    results = passes(episodes)
    unknown = f", {results[None]} not known" if results[None] else ""
    return f"{results[True]} of {len(episodes)}{unknown}"


def _marks(episodes: Sequence[EpisodeRow]) -> list[str]:
    """Return how many episodes differ, where some are identical; and in how many no call was made."""
    tries, idle = counted(episodes), without_call(episodes)
    marks = [f"{distinct_episodes(tries)} distinct"] if distinct_episodes(tries) < len(tries) else []
    if lost := sum(map(disturbed, episodes)):
        marks.append(f"{lost} disturbed")
    return [*marks, f"{idle} {NO_CALL}"] if idle else marks


def front_line(episodes: Sequence[EpisodeRow], aggregate: Aggregate) -> Text | None:
    """Return the Pareto front in words; None for a single agent."""
    agents = by_agent(without_baselines(headline(episodes)))
    if len(agents) < 2:
        return None
    best = front(aggregate, episodes)
    headings = front_headings(episodes, aggregate)
    idle = {agent: without_call(agents[agent]) for agent in best}
    names = short_names(agents)
    text = (
        f"{names[agent]} ({NO_CALL} in {idle[agent]} of {len(agents[agent])})"
        if idle[agent]
        else names[agent]
        for agent in best
    )
    return Text(f"Pareto front over {', '.join(headings)}: {', '.join(text)}")


def front_headings(episodes: Sequence[EpisodeRow], aggregate: Aggregate) -> list[str]:
    """Return the metrics of the Pareto front that some episode has."""
    known = means(episodes)
    return [BY_NAME[name].heading for name in aggregate.content.pareto if known[name] is not None]


def episode_columns(
    episodes: Sequence[EpisodeRow], metrics: Sequence[str] | None = None, *, run: bool = True
) -> list[Column[EpisodeRow]]:
    """Return the columns of a list of these episodes."""
    names = short_names(row.agent for row in episodes)
    metrics = _metrics(episodes) if metrics is None else metrics
    leaving = [*LEAVING[:4], "run", "seed", *LEAVING[4:6], "status", *LEAVING[6:]]
    # The status may leave if all episodes completed.
    completed = all(status_text(row).plain == "completed" for row in episodes)

    def leaves(heading: str) -> int:
        return leaving.index(heading) + 1 if heading in leaving else 0

    return [
        Column("episode", lambda row: str(row.id)),
        *([Column[EpisodeRow]("run", lambda row: str(row.run_id), leaves=leaves("run"))] if run else []),
        Column("task", lambda row: visible(row.task), "name"),
        Column("agent", lambda row: names[row.agent], "name"),
        Column("seed", lambda row: str(row.seed), leaves=leaves("seed"), more=True),
        Column("status", status_text, "words", leaves=leaves("status") if completed else 0, more=True),
        *(
            Column(
                BY_NAME[m].heading,
                partial(_score_of, m),
                leaves=leaves(BY_NAME[m].heading),
                more=m not in RANKING,
            )
            for m in metrics
        ),
    ]


def _score_of(metric: str, row: EpisodeRow) -> str:
    return score_cell(row.scores, metric)


def episodes_table(episodes: Iterable[EpisodeRow]) -> Table:
    """Return one row an episode."""
    rows = list(episodes)
    table = terminal_table(episode_columns(rows), rows)
    next(one for one in table.columns if one.heading == "status").least = STATUS_WIDTH
    return table
