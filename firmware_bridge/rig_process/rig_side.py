"""The rig process: serves a link to its host over a socket pair, and stops the rig once the host is gone."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from devices.stop_outcome import StopOutcome
from firmware_bridge.clock import BOOTTIME, Clock
from firmware_bridge.link import Link, LinkError, LinkGoneError, PortInUse, tell_through
from firmware_bridge.rig_process.protocol import (
    LATE_STOP_SECONDS,
    LATE_STRIKE,
    STRIKE,
    Frames,
    HostWatch,
    Kind,
    done,
    frame,
    numbered,
)
from firmware_bridge.serial.ports import DRIVEN, STOPPING

RETRY_SECONDS = 0.25
"""Time between two attempts to open a lost wire once the host is gone."""
MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT = 1, 2, 4


class RigSide:
    """Serves an open link until the host is gone; `run` returns when the rig is stopped and the link closed.

    Args:
        link: the open link to the rig.
        host: the socket to the host.
        clock: one that goes on while the machine is suspended.
    """

    def __init__(self, link: Link, host: socket.socket, clock: Clock = BOOTTIME) -> None:
        self._link, self._host, self._clock = link, host, clock
        self._watch = HostWatch(clock)
        self._frames = Frames()
        self._waiting = bytearray()
        self._sending = threading.Lock()
        self._slow = threading.Lock()
        self._wake_r, self._wake_w = os.pipe()
        os.set_blocking(self._wake_w, False)
        self._closing = self._closed = False

    def run(self) -> None:
        """Serve the host."""
        link = self._link
        features = {
            "name": link.name,
            "default_max_frame": link.default_max_frame,
            "frame_overhead": link.frame_overhead,
            "boot_seconds": link.boot_seconds,
            "confirms_stop": link.confirms_stop,
            "status_source": link.status_source,
            "unattended": link.unattended,
            "stops_before_sleep": self._guards_sleep(),
        }
        self._send(frame(Kind.READY, json.dumps(features).encode()))
        link.attach(lambda payload, retained: self._send(frame(Kind.MESSAGE, payload)), self._changed)
        if not link.connected:
            self._changed(False)
        while self._serve():
            pass
        name_process(STOPPING)
        if not self._closing:
            strike(link, STRIKE)
        if not self._closed:
            self._stop_late()
            link.close()

    def strike_now(self) -> None:
        """Stop the rig for a host that is silent, or will be."""
        # Told first: the host may be back before the last stop is out.
        self._send(frame(Kind.STRUCK))
        strike(self._link, STRIKE)

    def _guards_sleep(self) -> bool:
        try:
            from firmware_bridge.rig_process.sleep_guard import SleepGuard

            SleepGuard(self.strike_now)
        except (ImportError, OSError):
            return False
        return True

    def tell(self, line: str) -> None:
        """Have the host tell the person a line."""
        self._send(frame(Kind.TELL, line.encode()))

    def _serve(self) -> bool:
        """Handle what is due; return False when the host is gone, or has closed the link."""
        host = self._host.fileno()
        writers = [host] if self._waiting else []
        readable, writable, _ = select.select([host, self._wake_r], writers, [], self._watch.pause)
        if self._wake_r in readable:
            os.read(self._wake_r, 4096)
        if writable:
            self._send(b"")
        if host in readable:
            try:
                data = self._host.recv(1 << 16)
            except OSError:
                return False
            if not data:
                return False
            self._watch.heard()
            for kind, body in self._frames.feed(data):
                self._take(kind, body)
                if self._closing:
                    return False
        if self._watch.strikes():
            self._aside(self.strike_now)
        if self._watch.beats():
            self._send(frame(Kind.BEAT, str(self._link.dropped).encode()))
        return True

    def _take(self, kind: Kind, body: bytes) -> None:
        match kind:
            case Kind.MESSAGE:
                with contextlib.suppress(LinkError):
                    self._link.send(body)
            case Kind.STOP:
                self._aside(lambda: self._answer(body, self._stop))
            case Kind.RESET:
                self._aside(lambda: self._in_turn(body, self._link.send))
            case Kind.ENSURE:
                self._aside(lambda: self._in_turn(body, lambda rest: self._link.ensure(float(rest))))
            case Kind.DISCARD:
                self._link.discard()
            case Kind.CLOSE:
                self._closing = True
                late = LATE_STOP_SECONDS if self._link.stop_owed else 0.0
                if not late:
                    self._link.close()
                    self._closed = True
                self._send(done(numbered(body)[0], late=late))

    def _stop(self, _: bytes) -> str | None:
        self._link.estop()
        return self._link.stop_outcome(None)

    def _in_turn(self, body: bytes, act: Callable[[bytes], None]) -> None:
        with self._slow:
            self._answer(body, act)

    def _answer(self, body: bytes, act: Callable[[bytes], str | None]) -> None:
        number, rest = numbered(body)
        try:
            outcome = act(rest)
        except LinkError as error:
            self._send(done(number, error=str(error), gone=isinstance(error, LinkGoneError)))
        else:
            self._send(done(number, outcome=outcome))

    def _aside(self, act: Callable[[], object]) -> None:
        # The machine takes its time, and the host's next frame may be a stop.
        threading.Thread(target=act, daemon=True).start()

    def _changed(self, up: bool) -> None:
        self._send(frame(Kind.UP if up else Kind.DOWN))

    def _send(self, data: bytes) -> None:
        """Send at once what the socket takes, and the rest when it takes more. Never blocks, never raises."""
        with self._sending:
            self._waiting += data
            try:
                while self._waiting:
                    del self._waiting[: self._host.send(self._waiting, socket.MSG_DONTWAIT)]
            except BlockingIOError:
                with contextlib.suppress(BlockingIOError):
                    os.write(self._wake_w, b"w")
            except OSError:
                self._waiting.clear()

    def _stop_late(self) -> None:
        """Wait for a lost wire with a stop pending, and send it."""
        deadline = self._clock.now() + LATE_STOP_SECONDS
        while self._link.stop_owed and self._clock.now() < deadline:
            try:
                self._link.ensure(0.0)
                if strike(self._link, LATE_STRIKE):
                    return
            except PortInUse:
                # Whoever has it drives the machine.
                return
            except LinkError:
                pass
            time.sleep(RETRY_SECONDS)


def strike(link: Link, moments: Iterable[float]) -> bool:
    """Send the stop at these moments, until it is confirmed; return whether it was sent. Never raises."""
    sent, began = False, time.monotonic()
    for moment in moments:
        time.sleep(max(0.0, began + moment - time.monotonic()))
        with contextlib.suppress(LinkError):
            link.estop()
            sent = True
            if link.stop_outcome(None) is StopOutcome.CONFIRMED:
                break
    return sent


def name_process(name: str) -> None:
    """Name this process, as `ps` and other runs see it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(name)


def stay_alive() -> None:
    """Keep this process from being swapped out, or killed for want of memory, where that is allowed."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("-1000")


def main(descriptor: int, opener: str, arguments: Mapping[str, Any]) -> None:
    """The process: `opener` is `module:function`, called with these arguments, and returns a link."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        # The host alone ends this process, in order or by its own end.
        signal.signal(number, signal.SIG_IGN)
    name_process(DRIVEN)
    stay_alive()
    host = socket.socket(fileno=descriptor)
    tell_through(lambda line: host.sendall(frame(Kind.TELL, line.encode())))
    module, _, name = opener.partition(":")
    try:
        link: Link = getattr(import_module(module), name)(**arguments)
    except LinkError as error:
        host.sendall(frame(Kind.REFUSED, str(error).encode()))
        return
    rig = RigSide(link, host)
    tell_through(rig.tell)
    rig.run()
    # A driver's own threads must not outlive the rig.
    os._exit(0)
