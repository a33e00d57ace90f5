"""Stands between a driver and its machine, and disturbs what they say: on a serial port, or on TCP."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import select
import shutil
import socket
import tempfile
import threading
import time
import tty
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from firmware_bridge.link import LinkError
from firmware_bridge.serial.address import DEFAULT_BAUD, parse_serial_url
from firmware_bridge.serial.open import close_serial, open_serial

PORTS = {"mqtt": 1883, "ws": 80, "modbus": 502}
"""The port of a URL that states none, by its scheme; of others it must."""
DELAY_SECONDS = 0.4
BURST_SECONDS = 0.1
"""Time between two bursts of garbage, or of what answers another host."""
TURN_SECONDS = 0.02
BLOCK = 65_536


class Disturbance(StrEnum):
    """What happens to the line."""

    NONE = "none"
    MUTE = "mute"
    """The machine hears everything, and nothing that it says arrives."""
    CUT = "cut"
    """The cable is out, or the server is gone."""
    DELAY = "delay"
    """What it says arrives 0.4 s late."""
    GARBAGE = "garbage"
    """A third of its bytes is wrong, and noise comes between them."""
    MASTER = "second master"
    """Its earlier answers come again, as those to another host do."""


@dataclass(eq=False)
class _Pair:
    """The two ends of a connection: the driver's, and the machine's."""

    near: int
    far: int
    close: Callable[[], None]
    late: list[tuple[float, bytes]] = field(default_factory=list)
    answers: list[bytes] = field(default_factory=list)


class FaultProxy:
    """A door to the machine at `url`; a driver opens `self.url` instead.

    Attributes:
        url: the door's URL, with the options of the given one.
        sent, heard: the number of bytes that have reached the machine, and the driver.

    Raises:
        LinkError: the URL leads to no port and to no TCP server, or the port cannot be opened.
    """

    def __init__(self, url: str, baud: int = DEFAULT_BAUD, seed: int = 0) -> None:
        self.sent = self.heard = 0
        self._fault, self._random = Disturbance.NONE, random.Random(seed)
        self._lock, self._end = threading.Lock(), threading.Event()
        self._pairs: list[_Pair] = []
        self._listener: socket.socket | None = None
        self._folder = tempfile.mkdtemp(prefix="pathrig-door-")
        self._serial: Any = None
        self._burst_at = 0.0
        parts = urlsplit(url)
        try:
            if parts.hostname:
                self._server = parts.hostname, parts.port or PORTS.get(parts.scheme, 0)
                if not self._server[1]:
                    raise LinkError(
                        f"{url}: nothing stands between it and its driver; write HOST:PORT, no TLS"
                    )
                self._open_listener(0)
                user, at, _ = parts.netloc.rpartition("@")
                door = f"{user}{at}127.0.0.1:{self._port}"
                self.url = urlunsplit(parts._replace(netloc=door))
            else:
                address = parse_serial_url(urlunsplit(parts._replace(scheme="serial")), baud)
                self._serial = open_serial(address, 0.0)
                self._path = f"{self._folder}/port"
                self._open_pty()
                kept = [one for one in parse_qsl(parts.query) if one[0] not in ("serial", "vid", "pid")]
                self.url = f"{parts.scheme}://{self._path}" + (f"?{urlencode(kept)}" if kept else "")
        except BaseException:
            self.close()
            raise
        self._thread = threading.Thread(target=self._run, name="fault proxy", daemon=True)
        self._thread.start()

    def __enter__(self) -> FaultProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def disturb(self, fault: Disturbance) -> None:
        """Disturb the line so from now on."""
        with self._lock:
            before, self._fault = self._fault, fault
            if fault is Disturbance.CUT:
                self._cut()
            elif before is Disturbance.CUT:
                if self._serial is None:
                    self._open_listener(self._port)
                else:
                    self._open_pty()

    @property
    def shared(self) -> bool:
        """Whether another program could open the port too, while the driver has it; False on TCP."""
        if self._serial is None:
            return False
        port = os.open(self._path, os.O_RDWR | os.O_NOCTTY)
        try:
            fcntl.flock(port, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(port)
        return True

    def close(self) -> None:
        """Close both sides."""
        self._end.set()
        if (thread := getattr(self, "_thread", None)) is not None:
            thread.join(2.0)
        with self._lock:
            self._cut()
        close_serial(self._serial)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _cut(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        with contextlib.suppress(AttributeError, OSError):
            Path(self._path).unlink()
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            pair.close()

    def _open_listener(self, port: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", port))
        self._port = self._listener.getsockname()[1]

    def _open_pty(self) -> None:
        master, slave = os.openpty()
        tty.setraw(slave)
        os.set_blocking(master, False)
        # A name of its own: the kernel gives the number to whoever opens a pty next.
        Path(self._path).symlink_to(os.ttyname(slave))

        def close() -> None:
            for end in (master, slave):
                os.close(end)

        self._pairs.append(_Pair(master, self._serial.fileno(), close))

    def _accept(self) -> None:
        assert self._listener is not None
        near, _ = self._listener.accept()
        try:
            far = socket.create_connection(self._server, 5.0)
        except OSError:
            near.close()
            return
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end.settimeout(None)

        def close() -> None:
            near.close()
            far.close()

        self._pairs.append(_Pair(near.fileno(), far.fileno(), close))

    def _run(self) -> None:
        while not self._end.is_set():
            with self._lock:
                listener = self._listener
                ends: list[Any] = [end for pair in self._pairs for end in (pair.near, pair.far)]
                readable = select.select([*ends, *([listener] if listener else [])], [], [], 0)[0]
                for pair in list(self._pairs):
                    self._serve(pair, readable)
                if listener is not None and listener in readable:
                    self._accept()
            if not readable:
                time.sleep(TURN_SECONDS / 10)

    def _serve(self, pair: _Pair, readable: list[Any]) -> None:
        try:
            if pair.near in readable:
                data = _read(pair.near)
                # Counted first: who gets it may look at once.
                self.sent += len(data)
                os.write(pair.far, data)
            if pair.far in readable:
                self._answer(pair, _read(pair.far))
            now = time.monotonic()
            while pair.late and pair.late[0][0] <= now:
                self._pass(pair, pair.late.pop(0)[1])
            if self._fault in (Disturbance.GARBAGE, Disturbance.MASTER) and now >= self._burst_at:
                self._burst_at = now + BURST_SECONDS
                self._pass(pair, self._burst(pair))
        except BlockingIOError:
            # As a UART, it drops what nobody reads.
            pass
        except OSError:
            if self._serial is None and pair in self._pairs:
                self._pairs.remove(pair)
                pair.close()

    def _answer(self, pair: _Pair, data: bytes) -> None:
        pair.answers = [*pair.answers[-7:], data]
        match self._fault:
            case Disturbance.MUTE:
                return
            case Disturbance.DELAY:
                pair.late.append((time.monotonic() + DELAY_SECONDS, data))
                return
            case Disturbance.GARBAGE:
                data = bytes(self._random.randrange(256) if self._random.random() < 0.3 else b for b in data)
        self._pass(pair, data)

    def _burst(self, pair: _Pair) -> bytes:
        if self._fault is Disturbance.MASTER:
            return self._random.choice(pair.answers) if pair.answers else b""
        return self._random.randbytes(self._random.randrange(1, 40))

    def _pass(self, pair: _Pair, data: bytes) -> None:
        self.heard += len(data)
        os.write(pair.near, data)


def _read(end: int) -> bytes:
    """Raises OSError at the end of a connection."""
    data = os.read(end, BLOCK)
    if not data:
        raise OSError("closed")
    return data
