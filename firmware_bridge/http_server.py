"""Serves web applications: a thread with its own event loop, which ends with the context.

The connections are limited: their number, and the time until a request is complete. A client without the
token can still open connections, and each takes one of the process's descriptors, which the run needs for its
log and its rig.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 64
REQUEST_SECONDS = 5.0
"""Time, s, from the start of a request to its last byte."""
GONE_SECONDS = 30
"""Time after which a peer without acknowledgements (a phone that left its network) is dropped."""
WANTED_DESCRIPTORS = 1024
"""Upper limit: `select`, which reads MQTT and serial ports, supports no higher descriptors."""
ACCEPTED_AT_ONCE = 16
"""Reserve of connections that are not counted yet."""
MOST_TOLD = 20
"""Different errors of the event loop that are printed."""
WAITING = 256
"""Connections that wait in the kernel; they take no descriptor."""
END_SECONDS = 3.0
"""Time limit for the server to end, s."""


@contextmanager
def serve_app(app: Starlette, listening: socket.socket, name: str) -> Iterator[None]:
    """Serve an application on a listening socket; `name` is for the messages."""
    raise_descriptor_limit()
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http=BoundedConnection,
        backlog=ACCEPTED_AT_ONCE,
        ws="none",
        log_config=None,
        # Malformed requests are not logged on the run's terminal.
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    server = _Server(config, name)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(END_SECONDS)
        server.force_exit = True


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, name: str) -> None:
        super().__init__(config)
        self._name = name
        self._told: set[str] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._tell_once)
        await super().startup(sockets)
        for listening in sockets or ():
            # The event loop has limited the kernel's queue to what it accepts at once.
            listening.listen(WAITING)

    def _tell_once(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Print an error of the event loop, such as a lack of descriptors, at its first time only."""
        error = context.get("exception")
        text = str(context.get("message", "")) if error is None else f"{type(error).__name__}: {error}"
        if text not in self._told and len(self._told) < MOST_TOLD:
            self._told.add(text)
            print(f"pathrig: {self._name}: {' '.join(text.split())}", file=sys.stderr, flush=True)


def raise_descriptor_limit() -> None:
    """Raise this process's descriptor limit, up to what `select` supports."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= WANTED_DESCRIPTORS:
        return
    wanted = WANTED_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, WANTED_DESCRIPTORS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class BoundedConnection(H11Protocol):
    """A connection that is dropped if its request takes too long, or to make room for a new one.

    The oldest one without a complete request is dropped; one being answered (the page's events, which
    need the token) is never dropped.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._due: asyncio.TimerHandle | None = None
        self._made = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the request timer, and drop another connection if there are too many."""
        super().connection_made(transport)
        self._made = self.loop.time()
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            connection = transport.get_extra_info("socket")
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, GONE_SECONDS * 1000)
        self._watch()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        """Pass on received bytes and update the request timer."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the request timer and forget the connection."""
        self._stop_watching()
        super().connection_lost(exc)

    @property
    def _has_no_request(self) -> bool:
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body

    def _watch(self) -> None:
        if not self._has_no_request:
            self._stop_watching()
        elif self._due is None:
            self._due = self.loop.call_later(REQUEST_SECONDS, self._too_late)

    def _stop_watching(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _too_late(self) -> None:
        self._due = None
        if self._has_no_request:
            self.transport.abort()

    def _make_room(self) -> None:
        there = [one for one in self.connections if isinstance(one, BoundedConnection)]
        there = [one for one in there if not one.transport.is_closing()]
        if len(there) > MAX_CONNECTIONS:
            idle = [one for one in there if one is not self and one._has_no_request]
            min(idle, key=lambda one: one._made, default=self).transport.abort()
