"""The live page's routes, and its server, which ends with the run."""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from core_eval.live.history import History, PageEvent
from core_eval.live.serving import SAFE_HEADERS, Authorizer, no_entry, origin_of
from core_eval.log import LogError
from core_eval.report.page.templating import environment_in
from core_eval.text.foreign_json import ForeignJsonError, parse_json
from firmware_bridge.approval import ANSWERS, Answer

PAGE = Path(__file__).parent / "page"
QUIET_SECONDS = 10.0
"""Interval of keep-alive messages of a stream, s."""
MAX_BODY = 1000

Buttons = Callable[[int, Answer], bool]


class LivePage:
    """The page's routes.

    Args:
        authorizer: lets requests in.
        histories: what is shown, by its name; a run has one.
        answer: takes a question's number and an answer; None: the page only shows, and has no buttons.
        stop: stops the rig.
        cameras: addresses of pictures that the page may load.
        reports: by the name of what is shown, what returns the report of one of its runs, or raises LogError.
    """

    def __init__(
        self,
        authorizer: Authorizer,
        histories: Mapping[str, History],
        answer: Buttons | None = None,
        stop: Callable[[], None] | None = None,
        cameras: Collection[str] = (),
        reports: Mapping[str, Callable[[int], str]] | None = None,
    ) -> None:
        self._authorizer = authorizer
        self._names = list(histories)
        self._histories = list(histories.values())
        self._cameras = {origin_of(camera) for camera in cameras}
        self._report: str | None = None
        self._reports = reports or {}
        self._fetched = threading.Event()
        self._answer = answer
        self._stop = stop
        self._template = environment_in(PAGE).get_template("live.html.j2")
        self.app = Starlette(
            routes=[
                Route("/", self._page),
                Route("/events", self._events),
                Route("/report", self._show_report),
                *(
                    []
                    if answer is None or stop is None
                    else [
                        Route("/answer", self._press_answer, methods=["POST"]),
                        Route("/stop", self._press_stop, methods=["POST"]),
                    ]
                ),
            ]
        )

    def allow_camera(self, camera: str) -> None:
        """Let the page load pictures from a camera's origin; a page that is open loads itself anew."""
        self._cameras = {*self._cameras, origin_of(camera)}

    def show_report(self, text: str) -> None:
        """Set the report to which open pages go on after the end."""
        self._report = text

    def wait_for_readers(self, seconds: float) -> None:
        """Wait until the report was read, for so long at most."""
        if self._report is not None:
            self._fetched.wait(seconds)

    async def _show_report(self, request: Request) -> Response:
        if not self._authorizer.can_view(request.headers, request.query_params.get("token")):
            return no_entry()
        query = request.query_params
        report = (
            await self._report_of(query["run"], query.get("source", "0")) if "run" in query else self._report
        )
        if report is None:
            return JSONResponse({"error": "there is no such report yet"}, 404, headers=SAFE_HEADERS)
        done = BackgroundTask(self._fetched.set)
        # The report's own policy says which script it runs.
        policy = "connect-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        headers = {**SAFE_HEADERS, "Content-Security-Policy": policy}
        return HTMLResponse(report, headers=headers, background=done)

    async def _report_of(self, run: str, source: str) -> str | None:
        if not (run.isdecimal() and source.isdecimal() and int(source) < len(self._names)):
            return None
        make = self._reports.get(self._names[int(source)])
        try:
            return None if make is None else await run_in_threadpool(make, int(run))
        except LogError:
            return None

    async def _page(self, request: Request) -> Response:
        if not self._authorizer.can_view(request.headers, request.query_params.get("token")):
            return no_entry()
        nonce = secrets.token_urlsafe(12)
        images = " ".join(["data:", *sorted(self._cameras)])
        policy = (
            f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; connect-src 'self'; "
            f"img-src {images}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        buttons = self._answer is not None
        names = json.dumps(self._names)
        text = self._template.render(
            nonce=nonce,
            token=self._authorizer.token,
            buttons=buttons,
            sources=names,
            cameras=json.dumps(sorted(self._cameras)),
        )
        return HTMLResponse(text, headers={**SAFE_HEADERS, "Content-Security-Policy": policy})

    async def _events(self, request: Request) -> Response:
        if not self._authorizer.can_view(request.headers, request.query_params.get("token")):
            return no_entry()
        try:
            last = [int(number) for number in request.headers.get("last-event-id", "0").split(",")]
        except ValueError:
            last = []
        last += [0] * (len(self._histories) - len(last))
        return StreamingResponse(self._stream(last), media_type="text/event-stream", headers=SAFE_HEADERS)

    async def _press_answer(self, request: Request) -> Response:
        if not self._authorizer.can_control(request.headers):
            return no_entry()
        body = await _small_json(request)
        number, answer = body.get("number"), ANSWERS.get(str(body.get("answer")))
        if not isinstance(number, int) or answer is None:
            return JSONResponse({"error": "needs number and answer: approve, refuse or stop"}, 400)
        assert self._answer is not None
        counted = self._answer(number, answer)
        return JSONResponse({"counted": counted}, 200 if counted else 409)

    async def _press_stop(self, request: Request) -> Response:
        if not self._authorizer.can_control(request.headers):
            return no_entry()
        assert self._stop is not None
        await run_in_threadpool(self._stop)
        return JSONResponse({"stopped": True})

    async def _stream(self, last: list[int]) -> AsyncIterator[str]:
        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            # A closing loop is not woken.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(woken.set)

        with ExitStack() as watched:
            for history in self._histories:
                watched.enter_context(history.watch(wake))
            # Countdowns use the server's clock: the browser's may differ.
            yield f"event: clock\ndata: {json.dumps({'now': time.time()})}\n\n"
            while True:
                woken.clear()
                closed = all(history.closed for history in self._histories)
                texts = []
                for source, history in enumerate(self._histories):
                    for event in history.since(last[source]):
                        last[source] = event.id
                        texts.append(_as_text(event, source, last))
                if texts:
                    # Return at once: each write to a broken connection may log a line on the terminal.
                    yield "".join(texts)
                if closed:
                    return
                try:
                    await asyncio.wait_for(woken.wait(), QUIET_SECONDS)
                except TimeoutError:
                    yield ": still here\n\n"


def _as_text(event: PageEvent, source: int, last: Sequence[int]) -> str:
    """Return an event; its id says how far every source is, its name of which source it is but the first."""
    kind = f"{event.kind}@{source}" if source else event.kind
    return f"id: {','.join(map(str, last))}\nevent: {kind}\ndata: {event.data}\n\n"


async def _small_json(request: Request) -> dict[str, object]:
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                return {}
        value = parse_json(body)
    except (ClientDisconnect, ForeignJsonError):
        return {}
    return value if isinstance(value, dict) else {}
