"""Writes a log as HTML that opens offline: the outcome first, then all tables, and each episode in full."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from core_eval.log import EpisodeRow, LogReader, RunRow
from core_eval.log.charged import blameless, unseen
from core_eval.log.episode_filter import EpisodeFilter, worst_first
from core_eval.log.events import Tracked, untracked
from core_eval.report.page.episode import episode_view
from core_eval.report.page.event_choice import close_drawings
from core_eval.report.page.first_page import agent_lines, worst_episodes
from core_eval.report.page.grid import world_grid
from core_eval.report.page.stories import Page, Stories, story_pages
from core_eval.report.page.templating import environment_of_pages, tool_sets_of
from core_eval.report.pictures.agent_charts import scatters
from core_eval.report.pictures.event_pictures import event_pictures
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
from core_eval.report.tables.harm_summary import EpisodeHarm, by_kind, by_world_and_agent, read_harm
from core_eval.report.tables.model_lines import options_lines
from core_eval.report.tables.runs import plan_text
from core_eval.report.tables.worlds import worlds
from core_eval.score.agent_names import short_names
from core_eval.score.aggregate import Aggregate
from core_eval.score.episodes import any_inexact, left_record_line, of_one_reading
from core_eval.score.metrics import RANKED
from core_eval.score.outcome import outcome
from core_eval.score.repeated import by_agent, passed
from core_eval.score.suites import mixed_suites
from core_eval.score.summary import front

IN_ONE = 100
"""Episodes that one page holds at most; of more, each has a page of its own."""
EVERYTHING = "everything.html"
"""The page of all tables, in the folder of episodes."""
STORIES = 100
"""The worst episodes among which those are sought whose events are drawn closely."""


def html_pages(
    reader: LogReader,
    aggregate: Aggregate,
    index: str = "index.html",
    in_one: int = IN_ONE,
    wanted: EpisodeFilter | None = None,
    tracked: Tracked = untracked,
) -> Iterator[Page]:
    """Yield the report's pages, the first under the name `index`; with `wanted`, of these episodes only.

    Up to `in_one` episodes are in that page; of more, the tables and each episode have a page of their own in
    a folder beside it. `tracked` shows the progress.

    Raises:
        LogError: the log cannot be read.
    """
    environment = environment_of_pages()
    episodes, _ = of_one_reading((wanted or EpisodeFilter()).choose(reader, reader.episodes()))
    runs = {run.id: run for run in reader.runs()}
    worst = sorted(episodes, key=worst_first)
    drawings = close_drawings(reader, tracked("drawing harm", worst[:STORIES], len(worst[:STORIES])))
    pictures = event_pictures(reader, tracked("drawing pictures", worst[:STORIES], len(worst[:STORIES])))
    harm = {one.row.id: one for one in read_harm(reader, tracked("reading harm", episodes, len(episodes)))}
    whole = len(episodes) <= in_one
    folder = "" if whole else "episodes/" if index == "index.html" else f"{Path(index).stem}-episodes/"
    stories = [
        episode_view(
            reader, harm[row.id], runs.get(row.run_id), drawings.get(row.id, {}), pictures.of(row.id)
        )
        for row in (tracked("writing episodes", episodes, len(episodes)) if whole else ())
    ]
    everything = _everything(episodes, list(harm.values()), aggregate, runs.values())
    agents = by_agent(episodes)
    context = {
        "file": reader.path.name,
        "index": index,
        "folder": folder,
        "outcome": outcome(episodes),
        "about": _about(episodes, runs.values()),
        "no_pictures": pictures.left_out,
        "count": len(episodes),
        "stories": stories,
        "first": worst[0].id if worst else None,
        "tool_sets": tool_sets_of(stories),
        **everything,
    }
    yield Page(
        index,
        environment.get_template("report.html.j2").render(
            context,
            agents=agent_lines(episodes),
            agent_names=short_names(agents),
            grid=world_grid(episodes),
            worst=worst_episodes(reader, episodes, lambda row: harm[row.id]),
            whole=whole,
            there=folder,
        ),
    )
    if whole:
        return
    yield Page(f"{folder}{EVERYTHING}", environment.get_template("all.html.j2").render(context, there=""))
    stories_of = Stories(reader.path, folder, index, episodes, harm, runs, drawings, pictures)
    yield from tracked("writing episodes", story_pages(stories_of), len(episodes))


def _everything(
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
        "list": _list(episodes, harm),
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


def _list(episodes: Sequence[EpisodeRow], harm: Sequence[EpisodeHarm]) -> EpisodeList:
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


def _about(episodes: Sequence[EpisodeRow], runs: Iterable[RunRow]) -> str:
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
