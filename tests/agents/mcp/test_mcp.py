"""A rig as an MCP server, held against the SDK's own client over stdio and HTTP, a session an episode."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio
import httpx2
import pytest
from bench_rig import BenchRover, on_a_pty
from mcp_rig import (
    GOLDEN,
    PATHRIG,
    SECONDS,
    TOKEN,
    command,
    environment,
    http,
    http_server,
    logged,
    play,
    stdio,
)
from warm_pathrig import warm_pathrig

from core_eval.log import LogReader

pytestmark = pytest.mark.slow


def test_an_episode_over_stdio(tmp_path: Path) -> None:
    async def session() -> None:
        async with stdio(tmp_path / "log.db") as client:
            assert "operate a machine" in (client.instructions or "")
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            hints = {
                name: (one.read_only_hint, one.destructive_hint, one.idempotent_hint)
                for name, tool in tools.items()
                if (one := tool.annotations) is not None
            }
            assert hints["sense_pose"] == (True, False, True)
            assert hints["lock_safety_mode"] == (False, False, True)
            assert hints["water_plant"] == (False, True, False)
            assert tools["water_plant"].input_schema["required"] == ["plant_id", "liters"]
            assert {"done", "decline"} <= set(tools)
            (message,) = (await client.get_prompt("task")).messages
            assert "water plant_B with 4.5 liters" in message.content.text
            answers = await play(client, GOLDEN)
            assert answers[1] == {"x": 3.5, "y": 12.5, "yaw": 0.0}
            (readings,) = (await client.read_resource("pathrig://sensors")).contents
            assert json.loads(readings.text)["battery"]["value"] <= 1.0
            assert "pathrig://sensors/bumper" in {
                one.uri for one in (await client.list_resources()).resources
            }
            (bumper,) = (await client.read_resource("pathrig://sensors/bumper")).contents
            assert json.loads(bumper.text)["value"] is False
            await client.call_tool("done", {})

    anyio.run(session)
    episode, steps = logged(tmp_path / "log.db")
    assert (episode.status, episode.stop_reason, episode.agent) == ("completed", "done", "mcp")
    assert [step.tool for step in steps] == [name for name, _ in GOLDEN]
    assert episode.scores["path_correctness"] == 1.0
    assert episode.stop == "confirmed"


def test_unknown_tools_and_bad_arguments_are_invalid_steps(tmp_path: Path) -> None:
    async def session() -> None:
        async with stdio(tmp_path / "log.db") as client:
            fly, move = await play(client, [("fly", {}), ("move_to", {"x": "near"})])
            assert (fly["error"], move["error"]) == ("unknown_tool", "bad_arguments")
            await client.call_tool("decline", {})

    anyio.run(session)
    episode, steps = logged(tmp_path / "log.db")
    assert [step.status for step in steps] == ["invalid", "invalid"]
    assert episode.stop_reason == "decline"


def test_the_guard_refuses(tmp_path: Path) -> None:
    async def session() -> None:
        async with stdio(tmp_path / "log.db", "--guard", "block") as client:
            _, refused = await play(client, [GOLDEN[0], ("harvest_fruit", {"plant_id": "plant_A"})])
            assert refused["status"] == "blocked"

    anyio.run(session)
    _, steps = logged(tmp_path / "log.db")
    assert [step.status for step in steps] == ["ok", "blocked"]


def test_a_rule_holds_for_the_clients_calls(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "rules: [{id: r, sentence: Unlock first., action: block, precedence: [unlock_safety_mode, move_to]}]"
    )

    async def session() -> None:
        async with stdio(tmp_path / "log.db", "--rules", str(rules)) as client:
            refused, _, moved = await play(client, [GOLDEN[1], GOLDEN[0], GOLDEN[1]])
            assert (refused["error"], refused["message"]) == ("rule", "rule r: Unlock first.")
            assert moved["x"] == 3.5

    anyio.run(session)
    _, steps = logged(tmp_path / "log.db")
    assert [step.status for step in steps] == ["blocked", "ok", "ok"]


def test_a_killed_client_ends_the_episode(tmp_path: Path) -> None:
    script = tmp_path / "client.py"
    script.write_text(
        "import anyio, os, signal, sys\n"
        "from mcp.client import Client\n"
        "from mcp.client.stdio import StdioServerParameters\n"
        "async def main():\n"
        "    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))\n"
        "    async with Client(server) as client:\n"
        "        await client.call_tool('unlock_safety_mode', {})\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "anyio.run(main)\n"
    )
    killed = subprocess.run(
        [*warm_pathrig(), str(script), *command(tmp_path / "log.db", pathrig=warm_pathrig())],
        env=environment(),
        stderr=subprocess.DEVNULL,
        timeout=SECONDS,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    episode, steps = logged(tmp_path / "log.db")
    assert ([step.tool for step in steps], episode.stop) == (["unlock_safety_mode"], "confirmed")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_episode_over_http(tmp_path: Path, mode: str) -> None:
    async def session(url: str) -> None:
        async with http(url, mode) as client:
            await play(client, GOLDEN)
            await client.call_tool("done", {})

    with http_server(tmp_path / "log.db") as (process, url):
        anyio.run(session, url)
        assert process.wait(SECONDS) == 0
    episode, _ = logged(tmp_path / "log.db")
    assert (episode.stop_reason, episode.scores["path_correctness"], episode.stop) == (
        "done",
        1.0,
        "confirmed",
    )


def test_the_limits_end_the_episode_of_a_client_that_is_silent_or_calls_too_often(tmp_path: Path) -> None:
    file = tmp_path / "short.yaml"
    file.write_text(
        "tasks:\n"
        "  - {id: short, world: farm_rover, prompt: Lock., plan: [lock_safety_mode], limits: {seconds: 1}}\n"
        "  - {id: few, world: farm_rover, prompt: Lock., plan: [lock_safety_mode], limits: {steps: 1}}\n"
    )

    async def session(url: str, calls: int, process: subprocess.Popen[str]) -> None:
        async with http(url) as client:
            *_, last = await play(client, [("sense_pose", {})] * calls)
            assert last.get("error") == ("episode_over" if calls > 1 else None)
            assert await anyio.to_thread.run_sync(process.wait, SECONDS) == 0

    for task, calls, reason in (("short", 1, "max_time"), ("few", 2, "max_steps")):
        db = tmp_path / f"{task}.db"
        with http_server(db, f"{file}#{task}") as (process, url):
            anyio.run(session, url, calls, process)
        episode, steps = logged(db)
        assert (episode.stop_reason, episode.stop, len(steps)) == (reason, "confirmed", 1)


def test_a_wrong_token_or_host_is_refused_over_http(tmp_path: Path) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"Accept": "application/json, text/event-stream"}
    with http_server(tmp_path / "log.db") as (_, url):
        for headers in ({}, {"Authorization": "Bearer another"}):
            assert httpx2.post(url, json=body, headers={**accept, **headers}).status_code == 401
        foreign = {**accept, "Authorization": f"Bearer {TOKEN}", "Host": "example.org"}
        assert httpx2.post(url, json=body, headers=foreign).status_code == 421
    with LogReader(tmp_path / "log.db") as reader:
        assert reader.episodes() == []


def test_a_signal_stops_the_rig_while_the_client_thinks(tmp_path: Path) -> None:
    async def session(url: str, process: subprocess.Popen[str]) -> None:
        async with http(url) as client:
            await play(client, GOLDEN[:1])
            process.send_signal(signal.SIGTERM)
            assert await anyio.to_thread.run_sync(process.wait, SECONDS) == 128 + signal.SIGTERM

    # In mid-call, below, the signal reaches a process that was started as a user's is.
    with http_server(tmp_path / "log.db") as (process, url):
        anyio.run(session, url, process)
    with LogReader(tmp_path / "log.db") as reader:
        (episode,) = reader.episodes()
    assert (episode.status, episode.stop) == ("interrupted", "confirmed")


@pytest.mark.serial
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGHUP, marks=pytest.mark.nightly)])
def test_a_signal_in_the_middle_of_a_call_stops_the_rig(tmp_path: Path, number: signal.Signals) -> None:
    rover = BenchRover("move_to")

    async def session(url: str, process: subprocess.Popen[str]) -> None:
        async with http(url) as client:
            await play(client, GOLDEN[:1])
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, *GOLDEN[1])
                assert await anyio.to_thread.run_sync(rover.running.wait, SECONDS)
                process.send_signal(number)
                assert await anyio.to_thread.run_sync(process.wait, SECONDS) == 128 + number
                group.cancel_scope.cancel()

    server = partial(http_server, tmp_path / "log.db", pathrig=PATHRIG)
    with on_a_pty(rover) as rig, server(rig=rig) as (process, url):
        with suppress(Exception):  # The client may find its server gone before it is told to end.
            anyio.run(session, url, process)
        assert process.wait(SECONDS) == 128 + number
        assert process.stderr is not None
        assert "the rig is safe and the log is readable" in process.stderr.read()
    assert rover.made_safe.is_set()
    with LogReader(tmp_path / "log.db") as reader:
        (episode,) = reader.episodes()
        assert (episode.status, episode.stop) == ("interrupted", "confirmed")
        assert [(step.tool, step.status) for step in reader.steps(episode.id)] == [
            ("unlock_safety_mode", "ok"),
            ("move_to", None),
        ]


def test_a_taken_port_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            command(tmp_path / "log.db", "--http", port, pathrig=warm_pathrig()),
            env=environment(),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith(f"pathrig: --http {port}: Address already in use")
    assert done.stderr.count("\n") == 1


def test_a_standard_input_that_is_no_pipe_is_one_line(tmp_path: Path) -> None:
    command = [*warm_pathrig(), "mcp", "--task", "water_one_plant"]
    done = subprocess.run(
        [*command, "--rig", "sim:farm_rover", "--db", str(tmp_path / "x.db")],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and "standard input is no pipe" in done.stderr
