"""The rig process's own loop in this process: a socket pair, a scripted link, a given clock."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

from given_clock import GivenClock

from devices.outcome import StopOutcome
from firmware_bridge.link import Link, LinkError, OnFrame
from firmware_bridge.rig_process.deadman import Deadman
from firmware_bridge.rig_process.protocol import Frames, Kind, numbered, request
from firmware_bridge.rig_process.rig_side import RigSide, name_process
from firmware_bridge.serial.ports import process_name

NAME = process_name(os.getpid())


class ScriptedLink(Link):
    """A link that notes what is asked of it."""

    name = "serial:///dev/rig"
    default_max_frame = 512

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.stops = self.closes = self.ensures = self.discards = 0
        self.outcome: StopOutcome | None = StopOutcome.CONFIRMED
        self.error: LinkError | None = None
        self.ensure_error: LinkError | None = None
        self.owed = False
        self.gate = threading.Event()
        self.gate.set()

    @property
    def connected(self) -> bool:
        return self.error is None

    @property
    def stop_owed(self) -> bool:
        return self.owed

    def attach(self, on_frame: OnFrame, on_state: Callable[[bool], None]) -> None:
        self.on_frame, self.on_state = on_frame, on_state

    def ensure(self, timeout: float) -> None:
        self.ensures += 1
        if self.ensure_error is not None:
            raise self.ensure_error

    def send(self, payload: bytes) -> None:
        self.gate.wait(20)
        self.sent.append(payload)

    def estop(self) -> StopOutcome | None:
        self.stops += 1
        if self.error is not None:
            raise self.error
        return self.outcome

    def discard(self) -> None:
        self.discards += 1

    def close(self) -> None:
        self.closes += 1


class Served:
    """A rig side on a thread, and the host's end of its socket."""

    def __init__(self, link: ScriptedLink, relay: str | None = None) -> None:
        self.link, self.clock = link, GivenClock()
        self.host, its = socket.socketpair()
        self.host.settimeout(20)
        deadman = None if relay is None else Deadman(relay, self.clock)
        self.side = RigSide(link, its, self.clock, deadman=deadman)
        self._frames = Frames()
        self.got: list[tuple[Kind, bytes]] = []
        self.thread = threading.Thread(target=self.side.run, daemon=True)
        self.thread.start()
        self.features = json.loads(self.next(Kind.READY))

    def next(self, kind: Kind) -> bytes:
        """The body of the next frame of this kind."""
        while True:
            for number, (found, body) in enumerate(self.got):
                if found is kind:
                    del self.got[number]
                    return body
            data = self.host.recv(1 << 16)
            assert data, "the rig side has closed its end"
            self.got += self._frames.feed(data)

    def ask(self, kind: Kind, body: bytes = b"", number: int = 1) -> dict[str, Any]:
        self.host.sendall(request(kind, number, body))
        found, result = numbered(self.next(Kind.DONE))
        assert found == number
        return json.loads(result)

    def look(self) -> None:
        """Have it look at the clock."""
        os.write(self.side._wake_w, b"w")

    def ended(self) -> None:
        self.thread.join(20)
        assert not self.thread.is_alive()
        # Else a port of this process is waited for, as that of a rig process which still stops its rig.
        name_process(NAME)
