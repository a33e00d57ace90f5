"""Many logs, reports and boards of a folder on one local page, each a link away."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from core_eval.live.serving import SAFE_HEADERS, Authorizer, no_entry
from core_eval.log import LogError, LogReader
from core_eval.report.page.contrast import contrast_page
from core_eval.report.page.report import html_pages
from core_eval.report.page.templating import Script, environment_of_pages
from core_eval.score.aggregate import load_aggregate
from core_eval.score.contrast import between, sentence
from core_eval.score.episodes import different_exams, different_suites, of_one_reading
from core_eval.score.outcome import outcome

LOGS, PAGES = ".db", ".html"
POLICY = "connect-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"


@dataclass(frozen=True)
class LogLine:
    """A log of the folder, as its line on the page shows it; `fault` says why it cannot be read."""

    name: str
    changed: str
    runs: int = 0
    episodes: int = 0
    agents: str = ""
    measured: str = ""
    told: str = ""
    fault: str = ""


@dataclass
class FolderView:
    """The routes. The token is the first part of each path, so that the pages of a report find each other.

    Attributes:
        folder: what is shown; what lies below it, and nothing else.
        authorizer: lets requests in.
    """

    folder: Path
    authorizer: Authorizer
    _lines: dict[Path, tuple[float, LogLine]] = field(default_factory=dict)
    _report_of: tuple[Path, float, Mapping[str, str]] | None = None

    @property
    def app(self) -> Starlette:
        """The application."""
        return Starlette(
            routes=[
                Route("/", self._front),
                Route("/{token}/", self._index),
                Route("/{token}/compare", self._compare),
                Route("/{token}/page/{name:path}", self._page),
                Route("/{token}/log/{name:path}", self._report),
            ]
        )

    async def _front(self, request: Request) -> Response:
        token = request.query_params.get("token")
        if not self.authorizer.can_view(request.headers, token):
            return no_entry()
        return await self._shown(self.index)

    async def _index(self, request: Request) -> Response:
        return await self._shown(self.index) if self._may(request) else no_entry()

    async def _report(self, request: Request) -> Response:
        if not self._may(request):
            return no_entry()
        name = request.path_params["name"]
        return await self._shown(lambda: self.report(name))

    async def _page(self, request: Request) -> Response:
        if not self._may(request):
            return no_entry()
        path = self._found(request.path_params["name"], PAGES)
        return await self._shown(lambda: None if path is None else path.read_text(encoding="utf-8"))

    async def _compare(self, request: Request) -> Response:
        if not self._may(request):
            return no_entry()
        asked = request.query_params
        return await self._shown(lambda: self.compare(asked.get("a", ""), asked.get("b", "")))

    def _may(self, request: Request) -> bool:
        return self.authorizer.can_view(request.headers, request.path_params["token"])

    async def _shown(self, make: Callable[[], str | None]) -> Response:
        try:
            text = await run_in_threadpool(make)
        except (LogError, OSError, UnicodeDecodeError) as error:
            text = _message(str(error))
        headers = {**SAFE_HEADERS, "Content-Security-Policy": POLICY}
        if text is None:
            return HTMLResponse(_message("there is no such page"), 404, headers=headers)
        return HTMLResponse(text, headers=headers)

    def index(self) -> str:
        """Return the first page: every log with its outcome, newest first, and the pages beside them."""
        base = f"/{self.authorizer.token}/"
        lines = [self._line(path) for path in self._files(LOGS)]
        return (
            environment_of_pages()
            .get_template("view.html.j2")
            .render(
                title=self.folder.name,
                script=Script.of("view.js"),
                base=base,
                logs=[(quote(line.name), line) for line in lines],
                pages=[(quote(name), name) for name in map(self._name, self._files(PAGES))],
            )
        )

    def report(self, name: str) -> str | None:
        """Return a page of the report of a log, `LOG.db/` its first; None where there is none."""
        head, mark, rest = name.partition(f"{LOGS}/")
        path = self._found(f"{head}{LOGS}", LOGS) if mark else None
        if path is None:
            return None
        changed, kept = _changed(path), self._report_of
        if kept is None or kept[:2] != (path, changed):
            with LogReader(path) as reader:
                pages = {page.path: page.text for page in html_pages(reader, load_aggregate())}
            # A long log's pages are many: those of one log are kept.
            kept = self._report_of = path, changed, pages
        return kept[2].get(rest or "index.html")

    def compare(self, one: str, other: str) -> str | None:
        """Return the comparison of two logs, paired by task and seed; None where one is not there."""
        paths = [self._found(name, LOGS) for name in (one, other)]
        if paths[0] is None or paths[1] is None:
            return None
        with LogReader(paths[0]) as before, LogReader(paths[1]) as after:
            rows = before.episodes(), after.episodes()
            runs = {f"A run {run.id}": run for run in before.runs()}
            runs |= {f"B run {run.id}": run for run in after.runs()}
        if of_one_reading([*rows[0], *rows[1]])[1] is not None:
            return _message("the logs were scored by different readings of what is harmful")
        if (exams := different_exams(runs)) is not None:
            return _message(exams)
        contrasts = between(*rows)
        if not any(contrast.pairs for contrast in contrasts):
            return _message(f"{one} and {other} have no episode of the same agent, task and seed in common")
        reports = [f"log/{quote(name)}/" for name in (one, other)]
        mixed = different_suites(runs)
        return contrast_page(
            f"A {one}, B {other}", sentence(contrasts), {}, contrasts, [mixed] if mixed else [], reports
        )

    def _line(self, path: Path) -> LogLine:
        changed = _changed(path)
        if path not in self._lines or self._lines[path][0] != changed:
            self._lines[path] = changed, self._read(path, changed)
        return self._lines[path][1]

    def _read(self, path: Path, changed: float) -> LogLine:
        name, when = self._name(path), time.strftime("%Y-%m-%d %H:%M", time.localtime(changed))
        try:
            with LogReader(path) as reader:
                runs, rows = reader.runs(), reader.episodes()
        except LogError as error:
            return LogLine(name, when, fault=str(error))
        exams = {f"exam {exam['name']}" for run in runs if (exam := run.config.get("exam")) is not None}
        measured = dict.fromkeys(suite.partition(" ")[0] for run in runs for suite in run.suites)
        return LogLine(
            name,
            when,
            len(runs),
            len(rows),
            ", ".join(dict.fromkeys(row.agent for row in rows)),
            ", ".join([*measured, *sorted(exams)]),
            outcome(rows),
        )

    def _files(self, suffix: str) -> list[Path]:
        found = [path for path in self.folder.rglob(f"*{suffix}") if path.is_file() and self._is_below(path)]
        return sorted(found, key=lambda path: -_changed(path))

    def _found(self, name: str, suffix: str) -> Path | None:
        """Return the file of that name below the folder; None where there is none."""
        if PurePosixPath(name).suffix != suffix:
            return None
        return next((path for path in self._files(suffix) if self._name(path) == name), None)

    def _name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def _is_below(self, path: Path) -> bool:
        # A link may lead elsewhere.
        return path.resolve().is_relative_to(self.folder.resolve())


def _changed(path: Path) -> float:
    """Return when a file was changed, epoch s; the newest rows of a log stand in its -wal file."""
    wal = path.with_name(f"{path.name}-wal")
    return max(one.stat().st_mtime for one in (path, wal) if one.exists())


def _message(words: str) -> str:
    return f"<!doctype html><title>pathrig</title><p>{escape(words)}</p>"
