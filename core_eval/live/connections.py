"""Limits the connections of the live page: their number, and the time until a request is complete.

A client without the token can still open connections, and each takes one of the process's
descriptors, which the run needs for its log and its rig.
"""

from __future__ import annotations

import asyncio
import resource
import socket
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 64
REQUEST_SECONDS = 5.0
"""Time, s, from the start of a request to its last byte."""
GONE_SECONDS = 30
"""Time after which a peer without acknowledgements (a phone that left its network) is dropped."""
WANTED_DESCRIPTORS = 1024
"""Upper limit: `select`, which reads MQTT and serial ports, supports no higher descriptors."""
ACCEPTED_AT_ONCE = 16
"""Reserve of connections that are not counted yet."""
WAITING = 256
"""Connections that wait in the kernel; they take no descriptor."""


def raise_descriptor_limit() -> None:
    """Raise this process's descriptor limit, up to what `select` supports."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= WANTED_DESCRIPTORS:
        return
    wanted = WANTED_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, WANTED_DESCRIPTORS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class BoundedConnection(H11Protocol):
    """A connection that is dropped if its request takes too long, or to make room for a new one.

    The oldest one without a complete request is dropped; one being answered (the page's events, which
    need the token) is never dropped.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._due: asyncio.TimerHandle | None = None
        self._made = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the request timer, and drop another connection if there are too many."""
        super().connection_made(transport)
        self._made = self.loop.time()
        _give_up_on_the_gone(transport.get_extra_info("socket"))
        self._watch()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        """Pass on received bytes and update the request timer."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the request timer and forget the connection."""
        self._stop_watching()
        super().connection_lost(exc)

    @property
    def _has_no_request(self) -> bool:
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body

    def _watch(self) -> None:
        if not self._has_no_request:
            self._stop_watching()
        elif self._due is None:
            self._due = self.loop.call_later(REQUEST_SECONDS, self._too_late)

    def _stop_watching(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _too_late(self) -> None:
        self._due = None
        if self._has_no_request:
            self.transport.abort()

    def _make_room(self) -> None:
        there = [one for one in self.connections if isinstance(one, BoundedConnection)]
        there = [one for one in there if not one.transport.is_closing()]
        if len(there) > MAX_CONNECTIONS:
            idle = [one for one in there if one is not self and one._has_no_request]
            min(idle, key=lambda one: one._made, default=self).transport.abort()


def _give_up_on_the_gone(connection: socket.socket) -> None:
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, GONE_SECONDS * 1000)
