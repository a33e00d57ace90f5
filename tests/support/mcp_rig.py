"""A rig as an MCP server in a process of its own, over stdio and HTTP, and the SDK's own client."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from paths import ROOT
from warm_pathrig import warm_pathrig

from core_eval.log import EpisodeRow, LogReader, StepRow

TASK, RIG = "water_one_plant", "sim:farm_rover"
GOLDEN: list[tuple[str, dict[str, Any]]] = [
    ("unlock_safety_mode", {}),
    ("move_to", {"x": 3.5, "y": 12.5}),
    ("water_plant", {"plant_id": "plant_B", "liters": 4.5}),
    ("lock_safety_mode", {}),
]
TOKEN = "a-token-for-a-test"
SECONDS = 60.0
PATHRIG = (sys.executable, "-m", "core_eval.cli.main")


def command(
    db: Path,
    *options: str,
    task: str = TASK,
    rig: str = RIG,
    idle: float = 2.0,
    pathrig: Sequence[str] = PATHRIG,
) -> list[str]:
    given = ["mcp", "--task", task, "--rig", rig, "--db", str(db), "--idle", str(idle), *options]
    return [*pathrig, *given]


def environment() -> dict[str, str]:
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part)
    return {**os.environ, "PYTHONPATH": path, "PATHRIG_MCP_TOKEN": TOKEN}


@asynccontextmanager
async def stdio(db: Path, *options: str, idle: float = 2.0, **client_options: Any) -> AsyncIterator[Client]:
    program, *arguments = command(db, *options, idle=idle, pathrig=warm_pathrig())
    server = StdioServerParameters(command=program, args=arguments, env=environment())
    async with Client(server, **client_options) as client:
        yield client


@contextmanager
def http_server(
    db: Path,
    task: str = TASK,
    rig: str = RIG,
    idle: float = SECONDS,
    pathrig: Sequence[str] | None = None,
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process of a server on HTTP, and its URL; it is ended with the context.

    `pathrig` is the command where the process itself matters, such as that it gets a signal.
    """
    pathrig = warm_pathrig() if pathrig is None else pathrig
    given = command(db, "--http", "0", task=task, rig=rig, idle=idle, pathrig=pathrig)
    process = subprocess.Popen(given, env=environment(), stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert "the MCP server is http://127.0.0.1:" in line
        assert TOKEN in process.stderr.readline()
        yield process, line.split()[-1]
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)


@asynccontextmanager
async def http(url: str, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=SECONDS) as connection,
        Client(streamable_http_client(url, http_client=connection), mode=mode) as client,
    ):
        yield client


async def play(client: Client, calls: list[tuple[str, dict[str, Any]]]) -> list[Mapping[str, Any]]:
    """The structured answers to calls; `status` is only in that of a failed one."""
    answers = [await client.call_tool(name, arguments) for name, arguments in calls]
    assert all(answer.is_error == ("status" in answer.structured_content) for answer in answers)
    return [answer.structured_content for answer in answers]


def logged(db: Path) -> tuple[EpisodeRow, list[StepRow]]:
    """The only episode of a log, when it has ended."""
    end = time.monotonic() + SECONDS
    while True:
        with LogReader(db) as reader:
            (episode,) = reader.episodes() or [None]
            if episode is not None and episode.scores:
                return episode, reader.steps(episode.id)
        assert time.monotonic() < end, "the episode has not ended"
        time.sleep(0.1)
