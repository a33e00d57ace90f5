"""A page for each episode of a long log, written by as many processes as there are cores."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from jinja2 import Environment
from markupsafe import Markup

from core_eval.log import EpisodeRow, LogReader, RunRow
from core_eval.report.page.episode import episode_view
from core_eval.report.page.templating import tool_sets_of
from core_eval.report.pictures.event_pictures import EventPicture
from core_eval.report.tables.harm_summary import EpisodeHarm
from sims.world_type import WORLD_TYPES

FEWEST = 50
"""Fewer pages are written by this process alone."""
CHUNK = 10
"""Pages that a process writes at a time."""


@dataclass(frozen=True)
class Page:
    """A file of the report; `path` is relative to the folder of its first page."""

    path: str
    text: str


Finish = Callable[[Page], Page]
Shown = tuple[int, Mapping[int, Markup], Mapping[int, EventPicture]]
"""The place of an episode, and the drawings and pictures of its harm events, by their index."""


@dataclass
class Stories:
    """What the pages of episodes are made of, and by whom.

    Attributes:
        log: the log's file, which each process opens for itself.
        folder: of the pages, relative to that of the first page.
        index: the name of the first page.
        episodes: in the order of the pages' links.
        harm: by episode.
        runs: by id.
        environment: the templates.
        finish: called with each page, in the process that made it.
    """

    log: Path
    folder: str
    index: str
    episodes: Sequence[EpisodeRow]
    harm: Mapping[int, EpisodeHarm]
    runs: Mapping[int, RunRow]
    environment: Environment
    finish: Finish

    def __post_init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._automaton = ""

    def __enter__(self) -> Stories:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def pages(
        self,
        chosen: Container[int],
        drawings: Mapping[int, Mapping[int, Markup]] = MappingProxyType({}),
        pictures: Mapping[int, Mapping[int, EventPicture]] = MappingProxyType({}),
    ) -> Iterator[Page]:
        """Yield the pages of these episodes, by task; other processes begin to make them at once.

        Args:
            chosen: their ids.
            drawings, pictures: of harm events, by episode and index.

        Raises:
            LogError: the log cannot be read.
        """
        shown = [
            (place, drawings.get(row.id, {}), pictures.get(row.id, {}))
            for place, row in enumerate(self.episodes)
            if row.id in chosen
        ]
        # By task, so that most automata are read by one process only.
        shown.sort(key=lambda one: self.episodes[one[0]].task)
        jobs = os.cpu_count() or 1
        if jobs < 2 or len(self.episodes) < FEWEST:
            return map(self.page, shown)
        if self._pool is None:
            self._load()
            fork = multiprocessing.get_context("fork")
            self._pool = ProcessPoolExecutor(jobs, fork, initializer=_inherit, initargs=(self,))
        return self._pool.map(_page, shown, chunksize=CHUNK)

    def _load(self) -> None:
        """Load what every process would load for itself: the templates, and the episodes' worlds."""
        for name in self.environment.list_templates(("css", "j2")):
            self.environment.get_template(name)
        for world in {row.world for row in self.episodes if row.world is not None}:
            WORLD_TYPES.get(world)

    def page(self, shown: Shown) -> Page:
        """Return the page of an episode, finished."""
        place, drawings, pictures = shown
        row = self.episodes[place]
        if row.definition.automaton != self._automaton:
            self._automaton = row.definition.automaton
            self._reader.forget_automata()
        run = self.runs.get(row.run_id)
        story = episode_view(self._reader, self.harm[row.id], run, drawings, pictures)
        text = self.environment.get_template("episode.html.j2").render(
            file=self.log.name,
            folder=None,
            story=story,
            index=f"../{self.index}",
            before=self.episodes[place - 1].id if place else None,
            after=self.episodes[place + 1].id if place + 1 < len(self.episodes) else None,
            tool_sets=tool_sets_of([story]),
        )
        return self.finish(Page(f"{self.folder}{row.id}.html", text))

    @cached_property
    def _reader(self) -> LogReader:
        return LogReader(self.log)


_inherited: list[Stories] = []
"""What this process, a worker, got from its parent."""


def _inherit(stories: Stories) -> None:
    _inherited[:] = [stories]
    # What the parent read is there to the end: looking through it would copy it.
    gc.freeze()


def _page(shown: Shown) -> Page:
    return _inherited[0].page(shown)
