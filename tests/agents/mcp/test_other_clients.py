"""A rig as an MCP server, driven by the client of another framework than the SDK."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from core_eval.cli.main import main
from core_eval.log import LogReader

pytest.importorskip("fastmcp", reason="`make test-interop` installs it")
pytestmark = [pytest.mark.interop, pytest.mark.slow]
TASK = "water_one_plant"
CALLS = """
async def water(client):
    tools = {tool.name for tool in await client.list_tools()}
    assert {"move_to", "water_plant", "done", "decline"} <= tools, tools
    prompt = await client.get_prompt("task")
    assert "plant_B" in prompt.messages[0].content.text
    await client.call_tool("unlock_safety_mode", {})
    await client.call_tool("move_to", {"x": 3.5, "y": 12.5})
    wrong = await client.call_tool("move_to", {"x": "far"}, raise_on_error=False)
    assert wrong.is_error
    await client.call_tool("water_plant", {"plant_id": "plant_B", "liters": 4.5})
    await client.call_tool("lock_safety_mode", {})
    await client.call_tool("done", {})
"""
BY_HTTP = """
import asyncio, os
from fastmcp import Client
{calls}
async def main():
    async with Client(os.environ["PATHRIG_MCP_URL"], auth=os.environ["PATHRIG_MCP_TOKEN"]) as client:
        await water(client)

asyncio.run(main())
"""
BY_STREAMS = """
import asyncio, os, sys
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
{calls}
async def main():
    command = ["-m", "core_eval.cli.main", "mcp", *sys.argv[1:]]
    server = StdioTransport(sys.executable, command, env=dict(os.environ))
    async with Client(server) as client:
        await water(client)

asyncio.run(main())
"""


def check(db: Path) -> None:
    with LogReader(db) as reader:
        (episode,) = reader.episodes()
        statuses = [step.status for step in reader.steps(episode.id)]
    assert (episode.status, episode.stop_reason) == ("completed", "done")
    assert statuses == ["ok", "ok", "invalid", "ok", "ok"]


def test_an_agent_with_fastmcp_by_http(tmp_path: Path) -> None:
    script, db = tmp_path / "by_http.py", tmp_path / "run.db"
    script.write_text(BY_HTTP.format(calls=CALLS))
    agent = f"command:{shlex.join([sys.executable, str(script)])}"
    assert main(["run", "--task", TASK, "--rig", "sim:farm_rover", "--agent", agent, "--db", str(db)]) == 0
    check(db)


def test_fastmcp_starts_the_server_by_its_command(tmp_path: Path) -> None:
    script, db = tmp_path / "by_streams.py", tmp_path / "run.db"
    script.write_text(BY_STREAMS.format(calls=CALLS))
    given = ["--task", TASK, "--rig", "sim:farm_rover", "--db", str(db)]
    subprocess.run([sys.executable, str(script), *given], check=True, timeout=60)
    check(db)
