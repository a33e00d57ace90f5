"""A page for each episode of a long log, written by as many processes as there are cores."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jinja2 import Template
from markupsafe import Markup

from core_eval.log import EpisodeRow, LogReader, RunRow
from core_eval.report.page.episode import episode_view
from core_eval.report.page.templating import environment_of_pages, tool_sets_of
from core_eval.report.pictures.event_pictures import EventPictures
from core_eval.report.tables.harm_summary import EpisodeHarm

FEWEST = 50
"""Fewer pages are written by this process alone."""
CHUNK = 10
"""Pages that a process writes at a time."""


@dataclass(frozen=True)
class Page:
    """A file of the report; `path` is relative to the folder of its first page."""

    path: str
    text: str


@dataclass
class Stories:
    """What the pages of episodes are made of.

    Attributes:
        log: the log's file, which each process opens for itself.
        folder: of the pages, relative to that of the first page.
        index: the name of the first page.
        episodes: in the order of the pages' links.
        harm: by episode.
        runs: by id.
        drawings, pictures: of harm events, by episode and index.
    """

    log: Path
    folder: str
    index: str
    episodes: Sequence[EpisodeRow]
    harm: Mapping[int, EpisodeHarm]
    runs: Mapping[int, RunRow]
    drawings: Mapping[int, Mapping[int, Markup]]
    pictures: EventPictures

    def page(self, place: int) -> Page:
        """Return the page of the episode at this place."""
        row = self.episodes[place]
        story = episode_view(
            self._reader,
            self.harm[row.id],
            self.runs.get(row.run_id),
            self.drawings.get(row.id, {}),
            self.pictures.of(row.id),
        )
        text = self._template.render(
            file=self.log.name,
            folder=None,
            story=story,
            index=f"../{self.index}",
            before=self.episodes[place - 1].id if place else None,
            after=self.episodes[place + 1].id if place + 1 < len(self.episodes) else None,
            tool_sets=tool_sets_of([story]),
        )
        return Page(f"{self.folder}{row.id}.html", text)

    @cached_property
    def _reader(self) -> LogReader:
        return LogReader(self.log)

    @cached_property
    def _template(self) -> Template:
        return environment_of_pages().get_template("episode.html.j2")


def story_pages(stories: Stories) -> Iterator[Page]:
    """Yield the page of each episode, by task.

    Raises:
        LogError: the log cannot be read.
    """
    # By task, so that most automata are read by one process only.
    places = sorted(range(len(stories.episodes)), key=lambda place: stories.episodes[place].task)
    jobs = os.cpu_count() or 1
    if jobs < 2 or len(places) < FEWEST:
        yield from map(stories.page, places)
        return
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, fork, initializer=_inherit, initargs=(stories,)) as pool:
        yield from pool.map(_page, places, chunksize=CHUNK)


_inherited: list[Stories] = []
"""What this process, a worker, got from its parent."""


def _inherit(stories: Stories) -> None:
    _inherited[:] = [stories]


def _page(place: int) -> Page:
    return _inherited[0].page(place)
