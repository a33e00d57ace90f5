"""An episode has any number of sessions: there are clients that open one for each call, as LangGraph does."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from farm_rig import FARM_ROVER
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_rig import GOLDEN, RIG, SECONDS, TASK, command, environment, http, http_server, logged, play, stdio
from processes import wait_for
from warm_pathrig import warm_pathrig

from core_eval.cli.main import main
from core_eval.log import EpisodeRow, LogReader

pytestmark = pytest.mark.slow
A_SESSION_A_CALL = """
import os, sys
import anyio, httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
CALLS = {calls}

async def call(name, arguments, by):
    if by == "stdio":
        program = [*{pathrig}, "mcp"]
        server = StdioServerParameters(command=program[0], args=program[1:], env=dict(os.environ))
        async with Client(server) as client:
            await client.call_tool(name, arguments)
        return
    headers = {{"Authorization": "Bearer " + os.environ["PATHRIG_MCP_TOKEN"]}}
    async with httpx2.AsyncClient(headers=headers) as connection:
        transport = streamable_http_client(os.environ["PATHRIG_MCP_URL"], http_client=connection)
        async with Client(transport, mode=by) as client:
            await client.list_tools()
            await client.call_tool(name, arguments)

async def main():
    for name, arguments in CALLS:
        await call(name, arguments, sys.argv[1])

anyio.run(main)
"""
DONE: tuple[str, dict[str, Any]] = ("done", {})


def program(tmp_path: Path, calls: list[tuple[str, dict[str, Any]]], by: str) -> str:
    """The specification of an agent that makes the calls, each in a session of its own."""
    script = tmp_path / "client.py"
    script.write_text(A_SESSION_A_CALL.format(calls=calls, pathrig=warm_pathrig()))
    return f"command:{shlex.join([*warm_pathrig(), str(script), by])}"


def run(tmp_path: Path, agent: str) -> tuple[int, list[EpisodeRow]]:
    db = tmp_path / "run.db"
    status = main(["run", "--task", TASK, "--rig", RIG, "--agent", agent, "--db", str(db)])
    with LogReader(db) as reader:
        return status, reader.episodes()


LEGACY = pytest.param("legacy", marks=pytest.mark.nightly)
"""A session of the older kind, where another test has one by day."""


@pytest.mark.parametrize("by", [LEGACY, "auto", "stdio"])
def test_a_program_with_a_session_for_each_call_is_one_episode(tmp_path: Path, by: str) -> None:
    status, (episode,) = run(tmp_path, program(tmp_path, GOLDEN, by))
    assert (status, episode.status, episode.stop_reason) == (0, "completed", "done")
    assert (episode.calls_made, episode.scores["path_correctness"]) == (len(GOLDEN), 1.0)


def test_a_program_whose_calls_all_come_after_the_end_has_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, (episode,) = run(tmp_path, program(tmp_path, [DONE, *GOLDEN[:2]], "auto"))
    assert (status, episode.status, episode.calls_made) == (3, "error", 0)
    assert "made no call in the episode; 2 calls came after the end of the episode" in capsys.readouterr().err


def test_calls_after_the_end_are_told_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, (episode,) = run(tmp_path, program(tmp_path, [*GOLDEN, DONE, GOLDEN[0]], "auto"))
    assert (status, episode.status, episode.calls_made) == (0, "completed", len(GOLDEN))
    assert "1 call came after the end of the episode: refused" in capsys.readouterr().out
    with LogReader(tmp_path / "run.db") as reader:
        ((_, remark),) = reader.remarks(episode.id)
    assert remark == "1 call came after the end of the episode: refused"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_by_http_a_sessions_end_ends_nothing(tmp_path: Path, mode: str) -> None:
    async def sessions(url: str) -> None:
        for one in GOLDEN:
            async with http(url, mode) as client:
                await play(client, [one])
        async with http(url, mode) as client:
            await client.call_tool("done", {})

    with http_server(tmp_path / "log.db") as (process, url):
        anyio.run(sessions, url)
        assert process.wait(SECONDS) == 0
    episode, steps = logged(tmp_path / "log.db")
    assert [step.tool for step in steps] == [name for name, _ in GOLDEN]
    assert (episode.stop_reason, episode.scores["path_correctness"]) == ("done", 1.0)


@pytest.mark.parametrize("mode", ["auto", LEGACY])
def test_two_sessions_at_once_are_of_one_episode(tmp_path: Path, mode: str) -> None:
    async def both(url: str) -> None:
        async with http(url, mode) as first, http(url, mode) as second:
            await play(first, GOLDEN[:1])
            await play(second, GOLDEN[1:2])
            await play(first, GOLDEN[2:])
            await second.call_tool("done", {})

    with http_server(tmp_path / "log.db") as (process, url):
        anyio.run(both, url)
        assert process.wait(SECONDS) == 0
    episode, _ = logged(tmp_path / "log.db")
    assert (episode.calls_made, episode.scores["path_correctness"]) == (len(GOLDEN), 1.0)


def test_by_http_the_episode_ends_after_the_idle_time(tmp_path: Path) -> None:
    async def sessions(url: str) -> None:
        async with http(url, "legacy") as client:
            await play(client, GOLDEN)
            # An open session is not idle.
            await anyio.sleep(1.5)
            await play(client, [("sense_pose", {})])

    with http_server(tmp_path / "log.db", idle=0.7) as (process, url):
        anyio.run(sessions, url)
        assert process.wait(SECONDS) == 0
    episode, steps = logged(tmp_path / "log.db")
    assert (episode.status, episode.stop_reason, episode.stop) == ("stopped", "idle", "confirmed")
    assert len(steps) == len(GOLDEN) + 1


def test_by_http_calls_after_the_end_alone_are_a_failure(tmp_path: Path) -> None:
    async def sessions(url: str) -> None:
        async with http(url) as client:
            await client.call_tool("done", {})
            (refused,) = await play(client, GOLDEN[:1])
            assert refused["error"] == "episode_over"

    with http_server(tmp_path / "log.db") as (process, url):
        anyio.run(sessions, url)
        assert process.wait(SECONDS) == 3
        assert process.stderr is not None
        assert "1 call came after the end of the episode: refused" in process.stderr.read()


def test_by_stdio_a_process_for_each_call_is_one_episode(tmp_path: Path) -> None:
    async def sessions() -> None:
        for one in [*GOLDEN, DONE]:
            async with stdio(tmp_path / "log.db", idle=SECONDS) as client:
                await client.call_tool(*one)

    anyio.run(sessions)
    episode, steps = logged(tmp_path / "log.db")
    assert [step.tool for step in steps] == [name for name, _ in GOLDEN]
    assert (episode.stop_reason, episode.scores["path_correctness"]) == ("done", 1.0)


def test_by_stdio_processes_at_once_are_one_episode(tmp_path: Path) -> None:
    async def call(times: int) -> None:
        async with stdio(tmp_path / "log.db", idle=SECONDS) as client:
            await play(client, [("sense_pose", {})] * times)

    async def sessions() -> None:
        async with anyio.create_task_group() as tasks:
            for times in (1, 2, 3):
                tasks.start_soon(call, times)
        async with stdio(tmp_path / "log.db", idle=SECONDS) as client:
            await client.call_tool("done", {})

    anyio.run(sessions)
    assert logged(tmp_path / "log.db")[0].calls_made == 6


def test_by_stdio_no_second_episode_begins_for_calls_after_the_end(tmp_path: Path) -> None:
    async def sessions() -> None:
        for one in [GOLDEN[0], DONE]:
            async with stdio(tmp_path / "log.db", idle=SECONDS) as client:
                await client.call_tool(*one)
        async with stdio(tmp_path / "log.db", idle=SECONDS) as client:
            (refused,) = await play(client, GOLDEN[1:2])
            assert refused["error"] == "episode_over"

    anyio.run(sessions)
    assert logged(tmp_path / "log.db")[0].calls_made == 1


def test_after_the_idle_time_a_session_begins_a_new_episode(tmp_path: Path) -> None:
    db = tmp_path / "log.db"

    def episodes() -> list[EpisodeRow]:
        with LogReader(db) as reader:
            return [one for one in reader.episodes() if one.scores]

    async def session() -> None:
        # Long enough for a client that starts slowly: by this time, too, a server that nobody uses is closed.
        async with stdio(db, idle=2.0) as client:
            await play(client, GOLDEN[:1])

    anyio.run(session)
    assert wait_for(lambda: len(episodes()) == 1)
    time.sleep(1.0)
    anyio.run(session)
    assert wait_for(lambda: len(episodes()) == 2)
    assert [one.stop_reason for one in episodes()] == ["idle", "idle"]


def test_sessions_of_different_programs_share_an_episode_by_its_name(tmp_path: Path) -> None:
    script = tmp_path / "client.py"
    script.write_text(
        "import anyio, os, sys\n"
        "from mcp.client import Client\n"
        "from mcp.client.stdio import StdioServerParameters\n"
        "async def main():\n"
        "    server = StdioServerParameters(command=sys.argv[2], args=sys.argv[3:], env=dict(os.environ))\n"
        "    async with Client(server) as client:\n"
        "        for tool in sys.argv[1].split():\n"
        "            await client.call_tool(tool, {})\n"
        "anyio.run(main)\n"
    )
    name = f"shared-{os.getpid()}"
    given = command(tmp_path / "log.db", "--episode", name, idle=SECONDS, pathrig=warm_pathrig())
    for tools in ("unlock_safety_mode", "lock_safety_mode done"):
        done = [*warm_pathrig(), str(script), tools, *given]
        with subprocess.Popen(done, env=environment(), stderr=subprocess.DEVNULL) as client:
            assert client.wait(SECONDS) == 0
    assert logged(tmp_path / "log.db")[0].calls_made == 2


def test_ctrl_c_reaches_the_episode_and_no_other_one_begins(tmp_path: Path) -> None:
    db = tmp_path / "log.db"
    program, *arguments = command(db, idle=SECONDS)
    server = StdioServerParameters(command=program, args=arguments, env=environment())
    started: list[int] = []

    async def sessions() -> None:
        async with Client(stdio_client(server)) as client:
            await play(client, GOLDEN[:1])
            # The proxies are our own children; the episode's process is the child of the first one.
            children = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
            (proxy,) = [int(pid) for pid in children if str(db) in Path(f"/proc/{pid}/cmdline").read_text()]
            started.append(proxy)
            os.kill(proxy, signal.SIGINT)
            assert await anyio.to_thread.run_sync(wait_for, interrupted)
        async with Client(stdio_client(server)) as client:
            (refused,) = await play(client, GOLDEN[1:2])
            assert refused["error"] == "episode_over"

    def interrupted() -> bool:
        with LogReader(db) as reader:
            return [one.status for one in reader.episodes()] == ["interrupted"]

    anyio.run(sessions)
    with LogReader(db) as reader:
        (episode,) = reader.episodes()
    assert (episode.stop, episode.calls_made) == ("confirmed", 1)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--task", "no_such_task", "--rig", RIG], "no task 'no_such_task'"),
        ([], "give --task and --rig"),
    ],
)
def test_bad_usage_by_stdio_is_one_line(tmp_path: Path, given: list[str], says: str) -> None:
    done = subprocess.run(
        [*warm_pathrig(), "mcp", *given, "--db", str(tmp_path / "log.db")],
        input="",
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 2
    assert says in done.stderr and done.stderr.count("\n") == 1


def test_optional_arguments_are_nullable_and_null_leaves_them_out(tmp_path: Path) -> None:
    async def session() -> None:
        async with stdio(tmp_path / "log.db") as client:
            tools = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
            move = tools["move_to"]["properties"]
            assert {name for name, part in move.items() if part.get("nullable")} == {"yaw"}
            _, moved, wrong = await play(
                client,
                [
                    GOLDEN[0],
                    ("move_to", {"x": 3.5, "y": 12.5, "yaw": None}),
                    ("move_to", {"x": 3.5, "y": None}),
                ],
            )
            assert moved == {"x": 3.5, "y": 12.5, "yaw": 0.0}
            assert wrong["error"] == "bad_arguments"
            await client.call_tool("done", {})

    anyio.run(session)
    _, steps = logged(tmp_path / "log.db")
    assert steps[1].arguments == {"x": 3.5, "y": 12.5}


def test_the_offered_schemas_are_otherwise_those_of_the_device(tmp_path: Path) -> None:
    async def session() -> None:
        async with stdio(tmp_path / "log.db") as client:
            for tool in (await client.list_tools()).tools:
                if tool.name not in ("done", "decline"):
                    own = FARM_ROVER.by_name[tool.name].schema()["function"]["parameters"]
                    assert tool.input_schema["type"] == "object"
                    assert tool.input_schema.get("required", []) == own.get("required", [])
                    assert tool.input_schema["properties"].keys() == own["properties"].keys()

    anyio.run(session)
