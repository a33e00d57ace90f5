"""The MCP server on HTTP outlives strangers: connections without a token, and without an end."""

from __future__ import annotations

import contextlib
import resource
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from mcp_rig import GOLDEN, SECONDS, TOKEN, command, environment, http, logged, play

pytestmark = pytest.mark.slow
DESCRIPTORS = 256
STRANGERS = 400
HALF = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"


@contextmanager
def poor_server(db: Path, errors: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A server with few descriptors, whose standard error is a file; and its URL."""
    with errors.open("wb") as file:
        process = subprocess.Popen(
            command(db, "--http", "0", idle=SECONDS),
            env=environment(),
            stderr=file,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS)),
        )
        try:
            end = time.monotonic() + SECONDS
            while "Bearer" not in errors.read_text() and time.monotonic() < end:
                time.sleep(0.05)
            yield process, errors.read_text().split("\n")[0].split()[-1]
        finally:
            process.terminate()
            process.wait(SECONDS)


def opened(url: str, said: bytes, count: int) -> ExitStack:
    parts, stack = urlsplit(url), ExitStack()
    for _ in range(count):
        one = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=SECONDS)
        stack.enter_context(one)
        with contextlib.suppress(OSError):
            one.sendall(said)
    return stack


def test_an_episode_goes_on_while_strangers_hold_connections(tmp_path: Path) -> None:
    errors = tmp_path / "stderr"

    async def session(url: str) -> None:
        async with http(url) as client:
            await play(client, GOLDEN[:2])
            # Silent ones, and those of half a request.
            for said, call, last in ((b"", GOLDEN[2], "sense_pose"), (HALF, GOLDEN[3], "done")):
                with await anyio.to_thread.run_sync(opened, url, said, STRANGERS):
                    await play(client, [call])
                    async with http(url) as other:
                        await other.call_tool(last, {})

    with poor_server(tmp_path / "log.db", errors) as (process, url):
        anyio.run(session, url)
        assert process.wait(SECONDS) == 0
    episode, _ = logged(tmp_path / "log.db")
    assert (episode.status, episode.scores["path_correctness"]) == ("completed", 1.0)
    assert errors.stat().st_size < 20_000


def test_half_a_request_is_dropped_after_its_time(tmp_path: Path) -> None:
    with poor_server(tmp_path / "log.db", tmp_path / "stderr") as (_, url):
        parts = urlsplit(url)
        with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=SECONDS) as half:
            half.sendall(HALF.replace(b"\r\n\r\n", f"\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()))
            # It raises TimeoutError where the server waits for the rest.
            with contextlib.suppress(ConnectionResetError):
                while half.recv(4096):
                    pass
        assert httpx2.post(url, json={}).status_code == 401
