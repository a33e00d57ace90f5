"""A session with an MCP server, kept on a thread of its own; calls are futures."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import IO, Any

import httpx2
import mcp_types as types
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from firmware_bridge.link import LinkError
from firmware_bridge.mcp.address import McpAddress
from firmware_bridge.process_keeper import kept

TOKEN = "PATHRIG_MCP_RIG_TOKEN"
"""Environment variable of the bearer token for servers with a URL."""
OPEN_SECONDS = 30.0
"""Time for a server to start and to list its tools, s."""
CLOSE_SECONDS = 8.0
"""Time for a server to end: the SDK closes its input, then sends SIGTERM, then SIGKILL."""
MOST_PAGES = 100
"""Pages of a list of tools that are read."""


@dataclass(frozen=True)
class ServerFacts:
    """What a server states about itself, and its tools."""

    name: str
    version: str
    protocol: str
    instructions: str
    tools: tuple[types.Tool, ...]


@dataclass
class _Running:
    client: Client
    stop: asyncio.Event = field(default_factory=asyncio.Event)


class McpSession:
    """One connection to a server; `close` ends a server that was started for it.

    Args:
        address: the server's.
        on_tools: receives the new list when the server says that its tools have changed.
    """

    def __init__(self, address: McpAddress, on_tools: Callable[[tuple[types.Tool, ...]], None]) -> None:
        self.address = address
        self._on_tools = on_tools
        self._facts: Future[ServerFacts] = Future()
        self._running: _Running | None = None
        self._loop = asyncio.new_event_loop()
        self._errors: IO[str] = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._thread = threading.Thread(target=self._run, name=address.name, daemon=True)
        self.lost: str | None = None
        """Why the connection is lost; None while it is not known to be."""

    def open(self) -> ServerFacts:
        """Connect, starting the server if the address is a command, and return what it states.

        Raises:
            LinkError: it does not start, answer, or offer a tool.
        """
        self._thread.start()
        try:
            facts = self._facts.result(OPEN_SECONDS)
        except TimeoutError:
            self.close()
            raise LinkError(f"{self.address.name}: no answer within {OPEN_SECONDS:g} s") from None
        except Exception as error:
            why = self._last_words() or one_line(error)
            self.close()
            raise LinkError(f"{self.address.name}: is no MCP server that answers: {why}") from None
        if not facts.tools:
            self.close()
            raise LinkError(f"{self.address.name}: the server {facts.name} offers no tools")
        return facts

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Future[types.CallToolResult]:
        """Start a call. Cancelling its future sends the server a cancellation."""
        running = self._running
        assert running is not None, "the session is open"
        return asyncio.run_coroutine_threadsafe(running.client.call_tool(tool, dict(arguments)), self._loop)

    def mark_lost(self, error: BaseException) -> str:
        """Record that the connection is lost, and return why, with the last line of its standard error."""
        words = self._last_words()
        why = f"the server's last line: {words}" if words else one_line(error)
        self.lost = f"the connection to {self.address.name} is lost: {why}"
        return self.lost

    def close(self) -> None:
        """Close the session, and end a server that was started for it. Never raises."""
        running = self._running
        if running is not None:
            with suppress(RuntimeError):
                # A loop that has ended needs no stop.
                self._loop.call_soon_threadsafe(running.stop.set)
        elif self._thread.is_alive():
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._cancel_all)
        if self._thread.ident is not None:
            self._thread.join(CLOSE_SECONDS)
        self._errors.close()

    def _cancel_all(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()

    def _last_words(self) -> str:
        """Return the last line that the server wrote to standard error."""
        with suppress(OSError, ValueError):
            self._errors.seek(0, os.SEEK_END)
            self._errors.seek(max(0, self._errors.tell() - 4096))
            lines = [line.strip() for line in self._errors.read().splitlines() if line.strip()]
            return lines[-1][:300] if lines else ""
        return ""

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:
            if not self._facts.done():
                self._facts.set_exception(error if isinstance(error, Exception) else LinkError("cancelled"))
            elif self.lost is None:
                self.mark_lost(error)
        finally:
            self._running = None
            with suppress(RuntimeError, asyncio.CancelledError):
                self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    async def _serve(self) -> None:
        async with AsyncExitStack() as stack:
            transport: Any
            if self.address.url is None:
                program, *arguments = kept(self.address.command, streams=True)
                server = StdioServerParameters(command=program, args=arguments, env=dict(os.environ))
                transport = stdio_client(server, errlog=self._errors)  # type: ignore[arg-type]
            else:
                token = os.environ.get(TOKEN)
                headers = {"Authorization": f"Bearer {token}"} if token else {}
                http = await stack.enter_async_context(
                    httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(OPEN_SECONDS, read=None))
                )
                transport = streamable_http_client(self.address.url, http_client=http)
            client = await stack.enter_async_context(
                Client(transport, cache=None, message_handler=self._message)
            )
            running = _Running(client)
            info = client.server_info
            facts = ServerFacts(
                "server" if info is None else info.name,
                "" if info is None else info.version,
                client.protocol_version,
                client.instructions or "",
                await _tools(client),
            )
            self._running = running
            watching = asyncio.ensure_future(self._watch(client))
            stack.callback(watching.cancel)
            self._facts.set_result(facts)
            await running.stop.wait()

    async def _message(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification) and self._running is not None:
            # On a task of its own: this is the reader, which a request here would block.
            self._changes = asyncio.ensure_future(self._read_tools(self._running.client))

    async def _watch(self, client: Client) -> None:
        """Ask for changes of the tools where the protocol needs that."""
        changes = getattr(client.server_capabilities.tools, "list_changed", None)
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not changes:
            return
        with suppress(MCPError, SubscriptionLost, OSError):
            async with client.listen(tools_list_changed=True) as subscription:
                async for _ in subscription:
                    await self._read_tools(client)

    async def _read_tools(self, client: Client) -> None:
        with suppress(MCPError):
            self._on_tools(await _tools(client))


async def _tools(client: Client) -> tuple[types.Tool, ...]:
    tools: list[types.Tool] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return tuple(tools)


def one_line(error: BaseException) -> str:
    """Return an error's text in one line; of a group of errors, that of its first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return " ".join((str(error) or type(error).__name__).split())
