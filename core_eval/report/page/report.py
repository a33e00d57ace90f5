"""Writes a log as HTML that opens offline: the outcome first, then all tables, and each episode in full."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from core_eval.log import LogReader, Tracked, untracked
from core_eval.log.episode_filter import EpisodeFilter, worst_first
from core_eval.report.page.episode import episode_view
from core_eval.report.page.event_choice import close_drawings
from core_eval.report.page.everything import everything_of
from core_eval.report.page.first_page import about, agent_lines, world_grid, worst_episodes
from core_eval.report.page.stories import Finish, Page, Stories
from core_eval.report.page.templating import environment_of_pages, tool_sets_of
from core_eval.report.pictures.event_pictures import event_pictures
from core_eval.report.tables.harm_summary import read_harm
from core_eval.score.agent_names import short_names
from core_eval.score.aggregate import Aggregate
from core_eval.score.episodes import of_one_reading
from core_eval.score.outcome import outcome, worst_of
from core_eval.score.repeated import by_agent

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
    finish: Finish = lambda page: page,
) -> Iterator[Page]:
    """Yield the report's pages, the first under the name `index`; with `wanted`, of these episodes only.

    Up to `in_one` episodes are in that page; of more, the tables and each episode have a page of their own in
    a folder beside it. `tracked` shows the progress. `finish` is called with each page in the process that
    made it, and returns what is yielded: it may leave out the text.

    Raises:
        LogError: the log cannot be read.
    """
    environment = environment_of_pages()
    episodes, _ = of_one_reading((wanted or EpisodeFilter()).choose(reader, reader.episodes()))
    runs = {run.id: run for run in reader.runs()}
    worst = worst_of(episodes)
    first = {row.id for row in worst}
    others = (row for row in sorted(episodes, key=worst_first) if row.id not in first)
    drawn = [*worst, *others][:STORIES]
    harm = {one.row.id: one for one in read_harm(reader, tracked("reading harm", episodes, len(episodes)))}
    whole = len(episodes) <= in_one
    folder = "" if whole else "episodes/" if index == "index.html" else f"{Path(index).stem}-episodes/"
    with Stories(reader.path, folder, index, episodes, harm, runs, environment, finish) as pages:
        late = {row.id for row in drawn}
        early = iter(()) if whole else pages.pages(harm.keys() - late)
        drawings = close_drawings(reader, tracked("drawing harm", drawn, len(drawn)))
        pictures = event_pictures(reader, tracked("drawing pictures", drawn, len(drawn)))
        stories = [
            episode_view(
                reader, harm[row.id], runs.get(row.run_id), drawings.get(row.id, {}), pictures.of(row.id)
            )
            for row in (tracked("writing episodes", episodes, len(episodes)) if whole else ())
        ]
        everything = everything_of(episodes, list(harm.values()), aggregate, runs.values())
        agents = by_agent(episodes)
        context = {
            "file": reader.path.name,
            "index": index,
            "folder": folder,
            "outcome": outcome(episodes),
            "about": about(episodes, runs.values()),
            "no_pictures": pictures.left_out,
            "count": len(episodes),
            "stories": stories,
            "first": worst[0].id if worst else None,
            "tool_sets": tool_sets_of(stories),
            **everything,
        }
        first_page = environment.get_template("report.html.j2").render(
            context,
            agents=agent_lines(episodes),
            agent_names=short_names(agents),
            grid=world_grid(episodes),
            worst=worst_episodes(reader, episodes, lambda row: harm[row.id]),
            whole=whole,
            there=folder,
        )
        yield finish(Page(index, first_page))
        if whole:
            return
        tables = environment.get_template("all.html.j2").render(context, there="")
        yield finish(Page(f"{folder}{EVERYTHING}", tables))
        last = pages.pages(late, drawings, pictures.shown)
        yield from tracked("writing episodes", chain(early, last), len(episodes))
