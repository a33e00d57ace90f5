"""An agent that is a program: an MCP client, started and ended by the run."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from processes import ended, wait_for

from agents.agent import Agent, AgentSpecError
from agents.forms import COMMAND
from core_eval.log import EpisodeRow, Event, LogReader, RunLog, StepRow, ignore
from core_eval.rig.signals import StopButton, StoppedByPerson
from core_eval.run.config import Cell, RunConfig
from core_eval.run.episode import EpisodeFailed
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run

if TYPE_CHECKING:
    from agents.mcp.command_agent import CommandAgent

pytestmark = pytest.mark.slow
STDIO = """
import os, sys
from pathlib import Path
import anyio
from mcp.client import Client
from mcp.server.stdio import stdio_server

async def main():
    Path(sys.argv[1]).write_text(str(os.getpid()))
    # The client's side of a pair of standard streams is the same as a server's.
    async with Client(stdio_server()) as client:
        prompt = await client.get_prompt("task")
        assert "plant_B" in prompt.messages[0].content.text
        await client.call_tool("unlock_safety_mode", {})
        await client.call_tool("move_to", {"x": 3.5, "y": 12.5})
        await client.call_tool("water_plant", {"plant_id": "plant_B", "liters": 4.5})
        await client.call_tool("lock_safety_mode", {})
        await client.call_tool("done", {})

anyio.run(main)
"""
HTTP = """
import os, sys
from pathlib import Path
import anyio, httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

async def main():
    Path(sys.argv[1]).write_text(str(os.getpid()))
    headers = {"Authorization": "Bearer " + os.environ["PATHRIG_MCP_TOKEN"]}
    async with httpx2.AsyncClient(headers=headers) as connection:
        url = os.environ["PATHRIG_MCP_URL"]
        async with Client(streamable_http_client(url, http_client=connection)) as client:
            await client.call_tool("unlock_safety_mode", {})
            await client.call_tool("move_to", {"x": 3.5, "y": 12.5})
            await client.call_tool("water_plant", {"plant_id": "plant_B", "liters": 4.5})
            await client.call_tool("lock_safety_mode", {})
            await client.call_tool("done", {})
            await anyio.sleep(60)

anyio.run(main)
"""
FAILS = "import sys; from pathlib import Path; Path(sys.argv[1]).write_text('0'); sys.exit(7)"
SLEEPS = """
import os, signal, sys, time
from pathlib import Path
signal.signal(signal.SIGTERM, signal.SIG_IGN)
Path(sys.argv[1]).write_text(str(os.getpid()))
time.sleep(60)
"""
KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
BY_HTTP = """
import os, subprocess, sys, time
from pathlib import Path
# It reads no standard input, so that it does not see its end; nor does what it started.
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
Path(sys.argv[1]).write_text(f"{os.getpid()} {child.pid}\\n")
time.sleep(60)
"""


@contextmanager
def program(tmp_path: Path, text: str) -> Iterator[tuple[CommandAgent, Callable[[], bool]]]:
    """The agent of a script, and whether its process has ended."""
    # Here, since MCP's library takes a second to import, also where this file's tests are left out.
    from agents.mcp.command_agent import CommandAgent

    script, pid = tmp_path / "client.py", tmp_path / "pid"
    script.write_text(text)

    agent = COMMAND.make(shlex.join([sys.executable, str(script), str(pid)]), lambda *_: [])
    assert isinstance(agent, CommandAgent)
    yield agent, lambda: ended(int(pid.read_text()))


def run(
    tmp_path: Path,
    agent: Agent,
    episodes: int = 1,
    emit: Callable[[Event], None] = ignore,
    stop: StopButton | None = None,
) -> list[EpisodeRow]:
    cell = Cell(task="water_one_plant", rig="sim:farm_rover", agent="command")
    config = RunConfig(cells=(cell,), episodes=episodes)
    path = tmp_path / "log.db"
    with RunLog(path) as log:
        Run(config, load_parts(config, {"command": agent}), log, emit, stop_button=stop).start()
    return rows(path)


def rows(path: Path) -> list[EpisodeRow]:
    with LogReader(path) as reader:
        return reader.episodes()


@pytest.mark.parametrize(("text", "episodes"), [(STDIO, 2), (HTTP, 1)], ids=["stdio", "http"])
def test_a_script_passes_an_episode_and_is_gone(tmp_path: Path, text: str, episodes: int) -> None:
    with program(tmp_path, text) as (agent, gone):
        done = run(tmp_path, agent, episodes)
        assert gone()
    assert len(done) == episodes
    for episode in done:
        assert (episode.status, episode.stop_reason) == ("completed", "done")
        assert episode.scores["path_correctness"] == 1.0


def test_a_program_that_fails_is_an_error_of_one_line(tmp_path: Path) -> None:
    with program(tmp_path, FAILS) as (agent, _), pytest.raises(EpisodeFailed) as failed:
        run(tmp_path, agent)
    assert str(failed.value).endswith("ended: exit status 7")
    (episode,) = rows(tmp_path / "log.db")
    assert (episode.status, episode.stop) == ("error", "confirmed")


def test_a_stop_ends_a_program_that_ignores_sigterm(tmp_path: Path) -> None:
    button = StopButton()
    with program(tmp_path, SLEEPS) as (agent, gone), ThreadPoolExecutor() as pool:

        def press_later() -> float:
            while not (tmp_path / "pid").exists():
                time.sleep(0.02)
            button.press()
            return time.monotonic()

        def emit(event: Event) -> None:
            assert not isinstance(event, StepRow)
            if isinstance(event, EpisodeRow) and event.status == "running" and event.simulated:
                pressed.append(pool.submit(press_later))

        pressed: list = []
        with pytest.raises(StoppedByPerson):
            run(tmp_path, agent, emit=emit, stop=button)
        assert time.monotonic() - pressed[0].result() < 10
        assert gone()
    (episode,) = rows(tmp_path / "log.db")
    assert (episode.status, episode.stop_reason) == ("stopped", "person")


def test_a_program_that_was_killed_is_an_error_that_says_so(tmp_path: Path) -> None:
    with (
        program(tmp_path, KILLED) as (agent, _),
        pytest.raises(EpisodeFailed, match=r"ended: killed by signal 9$"),
    ):
        run(tmp_path, agent)


def test_the_program_and_what_it_started_end_with_a_run_that_is_killed(tmp_path: Path) -> None:
    script, pids = tmp_path / "client.py", tmp_path / "pids"
    script.write_text(BY_HTTP)
    agent = f"command:{shlex.join([sys.executable, str(script), str(pids)])}"
    given = ["--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", agent]
    command = [sys.executable, "-m", "core_eval.cli.main", "run", *given, "--db", str(tmp_path / "log.db")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as kit:
        started = wait_for(lambda: pids.exists() and pids.read_text().split("\n")[:-1])
        kit.send_signal(signal.SIGKILL)
    assert started
    for pid in pids.read_text().split():
        assert ended(int(pid))


@pytest.mark.parametrize("command", ["no-such-program-here", "'", " "])
def test_a_wrong_command_is_one_line(command: str) -> None:
    with pytest.raises(AgentSpecError) as wrong:
        COMMAND.make(command, lambda *_: [])
    assert str(wrong.value).startswith(f"agent {'command:' + command!r}: ")
    assert "\n" not in str(wrong.value)
