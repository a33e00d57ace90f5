"""MCP over sockets, and over streamable HTTP on loopback with a bearer token."""

from __future__ import annotations

import asyncio
import secrets
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from agents.mcp.desk import CallDesk
from firmware_bridge.http_server import END_SECONDS, serve_app

HOST = "127.0.0.1"
PATH = "/mcp"
MAX_LINE = 4 * 1024 * 1024
"""Largest message on a stream, bytes."""
MakeServer = Callable[[], Server[Any]]


@contextmanager
def serve_sockets(
    make: MakeServer, desk: CallDesk, listening: socket.socket, *connected: socket.socket
) -> Iterator[None]:
    """Serve sessions on a thread: one for each connection to `listening`, and one for each connected socket.

    A message is a line, as on standard streams. The sockets are closed in the end.
    """
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    sessions: set[asyncio.Task[None]] = set()

    async def session(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with desk.session(), suppress(OSError, BaseExceptionGroup):
            # The other side may break the stream at any time: that is the end of the session.
            server = make()
            async with stdio_server(
                stdin=cast("Any", _lines(reader)),
                stdout=cast("Any", _Sink(writer)),
            ) as (read, write):
                await server.run(read, write, server.create_initialization_options())
        writer.close()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(session(reader, writer))
        sessions.add(task)
        task.add_done_callback(sessions.discard)

    async def serve() -> None:
        async with await asyncio.start_unix_server(begin, sock=listening, limit=MAX_LINE):
            for one in connected:
                begin(*await asyncio.open_connection(sock=one, limit=MAX_LINE))
            await stop.wait()
        for task in sessions:
            task.cancel()
        await asyncio.gather(*sessions, return_exceptions=True)

    def run() -> None:
        try:
            loop.run_until_complete(serve())
        finally:
            loop.close()

    thread = threading.Thread(target=run, name="MCP: sockets", daemon=True)
    thread.start()
    try:
        yield
    finally:
        with suppress(RuntimeError):
            # A loop that has ended needs no stop.
            loop.call_soon_threadsafe(stop.set)
        thread.join(END_SECONDS)


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[str]:
    async for line in reader:
        yield line.decode("utf-8", errors="replace")


class _Sink:
    """The part of a text file that a session writes to."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        self._writer.write(text.encode("utf-8", errors="replace"))

    async def flush(self) -> None:
        await self._writer.drain()


class BearerToken:
    """Verifies the one token of a server."""

    def __init__(self, token: str) -> None:
        self.token = token or secrets.token_urlsafe(18)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the access of a token, None for a wrong one."""
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            return None
        return AccessToken(token=token, client_id="client", scopes=[])


class _EpisodeApp:
    """The endpoint; while a request is answered, or a stream is open, the episode is not idle."""

    def __init__(self, manager: StreamableHTTPSessionManager, desk: CallDesk) -> None:
        self._app = StreamableHTTPASGIApp(manager)
        self._desk = desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._desk.session():
            await self._app(scope, receive, send)


@contextmanager
def serve_http(server: Server[Any], desk: CallDesk, token: BearerToken, port: int = 0) -> Iterator[str]:
    """Serve sessions by streamable HTTP on loopback, on a thread; yield the URL. Port 0: any free one.

    Raises:
        OSError: the port is taken.
    """
    with socket.create_server((HOST, port)) as listening:
        own = f"{HOST}:{listening.getsockname()[1]}"
        manager = StreamableHTTPSessionManager(
            server,
            security_settings=TransportSecuritySettings(
                allowed_hosts=[own], allowed_origins=[f"http://{own}"]
            ),
        )
        app = Starlette(
            routes=[Route(PATH, endpoint=RequireAuthMiddleware(_EpisodeApp(manager, desk), []))],
            middleware=[Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(token))],
            lifespan=lambda _app: manager.run(),
        )
        with serve_app(app, listening, "MCP: HTTP"):
            yield f"http://{own}{PATH}"
