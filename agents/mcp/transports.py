"""MCP over standard streams, and over streamable HTTP on loopback with a bearer token."""

from __future__ import annotations

import asyncio
import secrets
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, cast

import anyio
import uvicorn
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

HOST = "127.0.0.1"
PATH = "/mcp"
LEAVE_SECONDS = 1.0
"""Time in which a client that has ended the episode may close its session, s."""
END_SECONDS = 3.0
"""Time limit for a server's thread to end, s."""
MAX_LINE = 4 * 1024 * 1024
"""Largest message on a stream, bytes."""


@contextmanager
def serve_streams(
    server: Server[Any], desk: CallDesk, source: IO[bytes], sink: IO[str] | None = None
) -> Iterator[threading.Event]:
    """Serve a session on a pair of streams, on a thread; yield the event of its end, which ends the episode.

    Args:
        source: a pipe, socket or terminal; it is closed in the end.
        sink: None: standard output, which is standard error to all others meanwhile.
    """
    ended, stop = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def session() -> None:
        lines = await _lines(source)
        async with stdio_server(
            stdin=cast("anyio.AsyncFile[str]", lines), stdout=None if sink is None else anyio.wrap_file(sink)
        ) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    async def until_stopped() -> None:
        served, stopped = asyncio.ensure_future(session()), asyncio.ensure_future(stop.wait())
        await asyncio.wait({served, stopped}, return_when=asyncio.FIRST_COMPLETED)
        for task in (served, stopped):
            task.cancel()
        # The other side may break the stream at any time: that is the end of the session.
        await asyncio.gather(served, stopped, return_exceptions=True)

    def run() -> None:
        try:
            loop.run_until_complete(until_stopped())
        finally:
            desk.end("done")
            ended.set()
            loop.close()

    thread = threading.Thread(target=run, name="MCP: streams", daemon=True)
    thread.start()
    try:
        yield ended
    finally:
        ended.wait(LEAVE_SECONDS)
        with suppress(RuntimeError):
            # A loop that has ended needs no stop.
            loop.call_soon_threadsafe(stop.set)
        thread.join(END_SECONDS)


async def _lines(source: IO[bytes]) -> AsyncIterator[str]:
    """Return the lines of a stream. No thread waits for them, so that the end need not wait for a line."""
    reader = asyncio.StreamReader(limit=MAX_LINE)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), source
    )

    async def read() -> AsyncIterator[str]:
        try:
            async for line in reader:
                yield line.decode("utf-8", errors="replace")
        finally:
            transport.close()

    return read()


class BearerToken:
    """Verifies the one token of a session."""

    def __init__(self, token: str) -> None:
        self.token = token or secrets.token_urlsafe(18)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the access of a token, None for a wrong one."""
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            return None
        return AccessToken(token=token, client_id="client", scopes=[])


class _SessionApp:
    """The endpoint; a client that deletes its session ends the episode."""

    def __init__(self, manager: StreamableHTTPSessionManager, desk: CallDesk) -> None:
        self._app = StreamableHTTPASGIApp(manager)
        self._desk = desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        deleted = False

        async def watched(message: Any) -> None:
            nonlocal deleted
            if message["type"] == "http.response.start":
                deleted = scope["method"] == "DELETE" and message["status"] < 300
            await send(message)

        await self._app(scope, receive, watched)
        if deleted:
            self._desk.end("done")


@contextmanager
def serve_http(server: Server[Any], desk: CallDesk, token: BearerToken, port: int = 0) -> Iterator[str]:
    """Serve one session by streamable HTTP on loopback, on a thread; yield the URL. Port 0: any free one.

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
            max_sessions=1,
        )
        app = Starlette(
            routes=[Route(PATH, endpoint=RequireAuthMiddleware(_SessionApp(manager, desk), []))],
            middleware=[Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(token))],
            lifespan=lambda _app: manager.run(),
        )
        config = uvicorn.Config(
            app,
            loop="asyncio",
            ws="none",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        http = uvicorn.Server(config)
        thread = threading.Thread(
            target=http.run, kwargs={"sockets": [listening]}, name="MCP: HTTP", daemon=True
        )
        thread.start()
        try:
            yield f"http://{own}{PATH}"
        finally:
            http.should_exit = True
            thread.join(END_SECONDS)
            http.force_exit = True
