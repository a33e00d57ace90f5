"""Sensors as MCP resources: read and subscribed to by the SDK's own client, in both ways of the protocol."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_rig import GOLDEN, http, http_server, logged, play, stdio

pytestmark = pytest.mark.slow

BATTERY, POSE, EVERY = "pathrig://sensors/battery", "pathrig://sensors/pose_reached", "pathrig://sensors"
SECONDS = 30.0


async def read(client: Client, uri: str) -> Any:
    (content,) = (await client.read_resource(uri)).contents
    assert content.mime_type == "application/json"
    return json.loads(content.text)


def test_reading_a_sensor_moves_nothing_and_begins_no_episode(tmp_path: Path) -> None:
    db = tmp_path / "log.db"

    async def session() -> None:
        async with stdio(db) as client:
            assert client.server_capabilities.resources.subscribe
            (template,) = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == "pathrig://sensors/{name}"
            assert await read(client, EVERY) == {}
            with pytest.raises(MCPError, match="the sensors are none yet"):
                await read(client, BATTERY)
            await play(client, GOLDEN[:2])
            first = await read(client, BATTERY)
            assert first.keys() == {"value", "t"} and 0 < first["value"] <= 1
            assert await read(client, BATTERY) == first == (await read(client, EVERY))["battery"]
            listed = {one.uri for one in (await client.list_resources()).resources}
            assert listed == {EVERY, *(f"{EVERY}/{name}" for name in await read(client, EVERY))}
            await client.call_tool("done", {})

    anyio.run(session)
    _, steps = logged(db)
    assert [step.tool for step in steps] == ["unlock_safety_mode", "move_to"]


async def drive(client: Client) -> None:
    await client.call_tool("move_to", {"x": 3.5, "y": 12.5})


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_stream_tells_of_new_samples_of_the_sensors_that_were_asked_for(
    tmp_path: Path, transport: str
) -> None:
    db = tmp_path / "log.db"

    async def watched(client: Client) -> None:
        with anyio.fail_after(SECONDS):
            await play(client, GOLDEN[:1])
            async with client.listen(resource_subscriptions=[POSE]) as changes:
                before = await read(client, POSE)
                await drive(client)
                assert await anext(aiter(changes)) == ResourceUpdated(POSE)
                after = await read(client, POSE)
                assert after["t"] > before["t"]
            await client.call_tool("done", {})

    async def by_stdio() -> None:
        async with stdio(db) as client:
            await watched(client)

    async def by_http(url: str) -> None:
        async with http(url) as client:
            await watched(client)

    if transport == "stdio":
        anyio.run(by_stdio)
    else:
        with http_server(db) as (process, url):
            anyio.run(by_http, url)
            assert process.wait(SECONDS) == 0
    episode, _ = logged(db)
    assert (episode.stop_reason, episode.stop) == ("done", "confirmed")


def test_a_stream_tells_when_the_first_readings_are_there(tmp_path: Path) -> None:
    async def session() -> None:
        async with stdio(tmp_path / "log.db") as client:
            with anyio.fail_after(SECONDS):
                async with client.listen(resources_list_changed=True) as changes:
                    await play(client, GOLDEN[:1])
                    assert await anext(aiter(changes)) == ResourcesListChanged()
                assert BATTERY in {one.uri for one in (await client.list_resources()).resources}

    anyio.run(session)


@pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")
def test_an_older_client_subscribes_to_a_resource(tmp_path: Path) -> None:
    told: list[str] = []

    async def heard(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            told.append(message.params.uri)

    async def session() -> None:
        async with stdio(tmp_path / "log.db", mode="legacy", message_handler=heard) as client:
            await play(client, GOLDEN[:1])
            with anyio.fail_after(SECONDS):
                await client.subscribe_resource(POSE)
                await client.subscribe_resource(POSE)
                await drive(client)
                while not told:
                    await anyio.sleep(0.05)
                assert set(told) == {POSE}
                await client.unsubscribe_resource(POSE)
                await client.unsubscribe_resource(EVERY)
                count = len(told)
                await client.call_tool("move_to", {"x": 5.0, "y": 2.0})
                await anyio.sleep(0.3)
                assert len(told) == count

    anyio.run(session)
    episode, _ = logged(tmp_path / "log.db")
    assert episode.stop == "confirmed"
