"""A rig's sensors as MCP resources: each has its last reported sample; reading one moves nothing.

Clients hear of new samples in both ways of the protocol: `resources/subscribe` for a resource, and, since
2026-07-28, the stream of `subscriptions/listen`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)
from mcp.shared.exceptions import MCPError

from agents.mcp.desk import CallDesk
from agents.scaffolds.prompting import compact_json
from devices.sensors import Sample

SENSORS = "pathrig://sensors"
ONE_SENSOR = SENSORS + "/{name}"
JSON = "application/json"
LOOK_SECONDS = 0.1
"""How often the samples are compared for those who subscribed, s: so often a sensor is told of at most."""
Context = ServerRequestContext[TaskGroup, Any]


@asynccontextmanager
async def background(_server: object) -> AsyncIterator[TaskGroup]:
    """Yield the tasks that go on between a session's requests; they end with it."""
    async with anyio.create_task_group() as tasks:
        yield tasks
        tasks.cancel_scope.cancel()


class SensorResources:
    """The resources of a server, as handlers of its sessions' requests."""

    def __init__(self, desk: CallDesk) -> None:
        self._desk = desk
        self._watched: dict[tuple[str, str], anyio.CancelScope] = {}

    async def list_all(self, _context: Context, _params: Any) -> types.ListResourcesResult:
        """Return the resource of all sensors, and one for each that has reported."""
        every = types.Resource(
            uri=SENSORS, name="sensors", description="The latest readings of all sensors.", mime_type=JSON
        )
        each = [
            types.Resource(uri=ONE_SENSOR.format(name=name), name=name, mime_type=JSON)
            for name in sorted(self._desk.samples())
        ]
        return types.ListResourcesResult(resources=[every, *each], ttl_ms=0, cache_scope="private")

    async def list_templates(self, _context: Context, _params: Any) -> types.ListResourceTemplatesResult:
        """Return how a sensor's resource is named, also before it has reported."""
        one = types.ResourceTemplate(
            uri_template=ONE_SENSOR, name="sensor", description="A sensor's latest reading.", mime_type=JSON
        )
        return types.ListResourceTemplatesResult(resource_templates=[one], ttl_ms=0, cache_scope="private")

    async def read(
        self, _context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return the last samples, as JSON."""
        readings = {name: _reading(sample) for name, sample in self._desk.samples().items()}
        name = params.uri.removeprefix(SENSORS).removeprefix("/")
        if not params.uri.startswith(SENSORS) or (name and name not in readings):
            known = ", ".join(sorted(readings)) or "none yet"
            raise MCPError(types.INVALID_PARAMS, f"no resource {params.uri}; the sensors are {known}")
        text = compact_json(readings[name] if name else readings)
        contents: list[types.TextResourceContents | types.BlobResourceContents] = [
            types.TextResourceContents(uri=params.uri, mime_type=JSON, text=text)
        ]
        return types.ReadResourceResult(contents=contents, ttl_ms=0, cache_scope="private")

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Tell the client of each change of a resource from now on."""
        watched = (_session_id(context), params.uri)
        if watched not in self._watched:
            self._watched[watched] = anyio.CancelScope()
            context.lifespan_context.start_soon(self._tell, context, watched, self._desk.samples())
        return types.EmptyResult()

    async def unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Tell no more of it."""
        scope = self._watched.pop((_session_id(context), params.uri), None)
        if scope is not None:
            scope.cancel()
        return types.EmptyResult()

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve a stream of changes until the client closes it."""
        bus, known = InMemorySubscriptionBus(), self._desk.samples()

        async def publish() -> None:
            async for event in self._changes(known):
                await bus.publish(event)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(publish)
            result = await ListenHandler(bus)(context, params)
            tasks.cancel_scope.cancel()
        return result

    async def _tell(self, context: Context, watched: tuple[str, str], known: Any) -> None:
        uri = watched[1]
        with self._watched[watched]:
            async for event in self._changes(known):
                if event == ResourceUpdated(uri):
                    try:
                        await context.session.send_resource_updated(uri)
                    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                        return

    async def _changes(self, known: Any) -> AsyncIterator[ServerEvent]:
        """Yield what differs from the known samples, and from then on."""
        while True:
            now = self._desk.samples()
            if now.keys() != known.keys():
                yield ResourcesListChanged()
            changed = [name for name, sample in now.items() if known.get(name) != sample]
            for name in changed:
                yield ResourceUpdated(ONE_SENSOR.format(name=name))
            if changed:
                yield ResourceUpdated(SENSORS)
            known = now
            await anyio.sleep(LOOK_SECONDS)


def _session_id(context: Context) -> str:
    """Return the id of a session by HTTP, where many share a server; empty for the only one of a stream."""
    return "" if context.request is None else context.request.headers.get(MCP_SESSION_ID_HEADER, "")


def _reading(sample: Sample) -> dict[str, Any]:
    return {name: value for name, value in asdict(sample).items() if name != "sensor"}
