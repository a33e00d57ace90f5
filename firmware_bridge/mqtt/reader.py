"""What comes in over an MQTT connection: read by its own thread, or by a thread that waits for an answer."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import paho.mqtt.client as mqtt

from firmware_bridge.deferred_signals import DeferredSignals
from firmware_bridge.mqtt.leader_follower import LeaderFollower

log = logging.getLogger(__name__)

LONGEST_WAIT = 1.0
"""Seconds between two looks at the keep-alive."""
SEIZE_WAIT = 2.0
"""Seconds that closing waits for a thread that reads."""
HELD_WAIT = 0.1
"""Seconds that a signal may have to wait while another thread reads."""


class MqttReader:
    """Reads a paho client without a loop of its own, on whichever thread has the turn.

    paho is entered under `lock` alone; what it reads goes to an inbox, and is handed over outside the lock.
    What was handed over is acknowledged behind the next message that we publish, or before we wait: first the
    machine, then the paperwork.

    Args:
        lock: guards the client.
        on_message: takes topic, payload and the retain flag.

    Attributes:
        client: what to read.
        up: whether threads that wait may read; until then only `serve` does.
    """

    def __init__(self, lock: threading.RLock, on_message: Callable[[str, bytes, bool], None]) -> None:
        self.client: mqtt.Client | None = None
        self.up = False
        self._lock = lock
        self._on_message = on_message
        self._inbox: deque[mqtt.MQTTMessage | Callable[[], None]] = deque()
        self._due: deque[int] = deque()
        self._turn = LeaderFollower()
        self._lost = False
        self._ended = False
        self._look_at = 0.0
        self._wake_r, self._wake_w = os.pipe()
        os.set_blocking(self._wake_w, False)
        self._one_wake = threading.RLock()

    def take(self, _client: mqtt.Client, _data: Any, message: mqtt.MQTTMessage) -> None:
        """The client's `on_message`."""
        self._inbox.append(message)

    def later(self, callback: Callable[[], None]) -> None:
        """Have a callback run outside the lock, in step with the messages."""
        self._inbox.append(callback)

    def acknowledge(self) -> None:
        """Acknowledge what was handed over. Needs the lock."""
        due = self._due
        while due and self.client is not None:
            self.client.ack(due.popleft(), 1)

    def read_until(self, done: Callable[[], bool], timeout: float | None, news: threading.Condition) -> None:
        """Wait until `done()`, at most `timeout` seconds, and read meanwhile if nobody else does.

        Callbacks run on this thread then. `news` is to be notified of what another thread reads.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with DeferredSignals() as signals:
            while not (done() or self._ended):
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return
                if self._readable() and self._turn.take():
                    if self._readable():
                        self._read(done, deadline, signals)
                    else:
                        self._turn.leave()
                else:
                    if signals.holding:
                        # A handler that raises here would leave locks taken: it strikes in between.
                        signals.deliver()
                        left = HELD_WAIT if left is None else min(left, HELD_WAIT)
                    self._turn.wait(news, done, self._readable, left)
                    signals.deliver()

    def serve(self) -> None:
        """For the connection's own thread: read while nobody waits, until the connection is lost or ended."""
        signals = DeferredSignals()
        while not (self._lost or self._ended):
            if self._turn.take():
                self._read(self._given_up, None, signals)
            self._turn.stand_by()

    def connection_lost(self) -> None:
        """Forget what came over the old connection; to be called when `serve` has returned."""
        self.up = False
        self._inbox.clear()
        self._due.clear()
        self._lost = False

    def nudge(self) -> None:
        """Let threads that wait know that they may read."""
        self._turn.nudge()

    def deliver(self) -> None:
        """Hand over what came."""
        inbox = self._inbox
        while inbox:
            item = inbox.popleft()
            try:
                if isinstance(item, mqtt.MQTTMessage):
                    if item.qos:
                        self._due.append(item.mid)
                    self._on_message(item.topic, bytes(item.payload), item.retain)
                else:
                    item()
            except Exception:
                # An exception here would end the network thread and leave the rig without a link.
                log.exception("a callback of the MQTT connection failed")

    def wake(self) -> None:
        """Have whoever reads look again: at what there is to write, and whether it is done."""
        with self._one_wake, contextlib.suppress(BlockingIOError, OSError):
            os.write(self._wake_w, b"w")

    def end(self) -> None:
        """Have all readers return, and read no more."""
        self._ended = True
        self.wake()
        self._turn.call()
        self._turn.nudge()

    def close(self) -> None:
        """After `end`: give back the pipe, once nobody reads any more."""
        # Its numbers may be another file's right away. Who reads still (a callback that blocks, or that
        # closes us) keeps them.
        if self._turn.seize(SEIZE_WAIT):
            with self._one_wake:
                os.close(self._wake_r)
                os.close(self._wake_w)
                self._wake_w = -1

    def _given_up(self) -> bool:
        return self.up and self._turn.wanted

    def _readable(self) -> bool:
        return self.up and not self._lost

    def _read(self, done: Callable[[], bool], deadline: float | None, signals: DeferredSignals) -> None:
        """Read until `done()`, or the connection is lost or ended. Needs the turn, and gives it up."""
        client, lock, inbox = self.client, self._lock, self._inbox
        sock: Any = None if client is None else client.socket()
        encrypted = isinstance(sock, ssl.SSLSocket)
        wait = LONGEST_WAIT
        try:
            while not done():
                if deadline is not None:
                    wait = min(LONGEST_WAIT, deadline - time.monotonic())
                    if wait <= 0:
                        return
                if client is None or sock is None or self._ended:
                    self._lost = True
                    return
                if self._due:
                    with lock:
                        self.acknowledge()
                writers = (sock,) if client.want_write() else ()
                try:
                    signals.open = True
                    # What came while it was not open; from here on it strikes at once.
                    signals.deliver()
                    signals.open = True
                    readable, _, _ = select.select((sock, self._wake_r), writers, (), wait)
                except (OSError, ValueError):
                    # Another thread's write found the connection broken and closed the socket.
                    self._lost = True
                    return
                finally:
                    signals.open = False
                if self._wake_r in readable:
                    os.read(self._wake_r, 4096)
                with lock:
                    if sock in readable:
                        client.loop_read()
                        while encrypted and sock.fileno() >= 0 and sock.pending() > 0:
                            client.loop_read()
                    if writers:
                        client.loop_write()
                    now = time.monotonic()
                    if now >= self._look_at:
                        self._look_at = now + LONGEST_WAIT
                        client.loop_misc()
                if inbox:
                    self.deliver()
        finally:
            self._turn.leave()
            if self._lost:
                self._turn.call()
