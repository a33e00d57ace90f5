"""Sends the table of the guard on a device's chip."""

from __future__ import annotations

import hashlib
import zlib
from functools import partial

from firmware_bridge import messages as wire
from firmware_bridge.codec import encode
from firmware_bridge.link import Link, LinkError
from firmware_bridge.peer import Peer
from firmware_bridge.probe import Probe

PIECE_BYTES = 160
"""So that a frame fits into 512 bytes."""
ANSWER_SECONDS = 2.0
TRIES = 3
BUSY_SECONDS = 15.0
"""The longest table takes 4 s into an EEPROM."""
AGAIN_SECONDS = 0.2
MAC_BYTES = 16
KEY_BYTES = range(16, 33)


def code_of(table: bytes, generation: int, key: bytes) -> str:
    """Return the code with which a device takes a table as its next generation: keyed BLAKE2s (RFC 7693)."""
    message = generation.to_bytes(4, "little") + table
    return hashlib.blake2s(message, digest_size=MAC_BYTES, key=key).hexdigest().upper()


class GuardLoader:
    """Loads tables over a link."""

    def __init__(self, link: Link, peer: Peer, probe: Probe) -> None:
        self._link, self._peer, self._probe = link, peer, probe

    def load(self, table: bytes, key: bytes | None) -> wire.GuardStatus:
        """Load a table; see `RigClient.load_guard`."""
        self._probe.hello(ANSWER_SECONDS)
        before = None if self._peer.status is None else self._peer.status.guard
        if before is None:
            raise LinkError(f"{self._link.name}: its firmware has no guard on the chip")
        for at in range(0, len(table), PIECE_BYTES):
            self._say(wire.Guard(at=at, data=table[at : at + PIECE_BYTES].hex().upper()))
        generation = (before.generation + 1) % 2**32
        end = wire.Guard(
            length=len(table),
            sum=f"{zlib.crc32(table):08X}",
            mac=None if key is None else code_of(table, generation, key),
        )
        status = self._say(end, generation)
        if status.generation != generation or (status.state == "on") is not bool(table):
            raise LinkError(f"{self._link.name}: the guard on the chip holds another table: {status.table}")
        return status

    def _say(self, message: wire.Guard, generation: int | None = None) -> wire.GuardStatus:
        deadline = self._peer.time.now() + BUSY_SECONDS
        tries = TRIES
        while tries:
            seen = self._peer.status_count
            self._link.send(encode(message))
            if not self._peer.wait(partial(self._answered, seen, generation), ANSWER_SECONDS):
                tries -= 1
                continue
            status = None if self._peer.status is None else self._peer.status.guard
            if status is None:
                break
            # The answer to the end may have been lost, and the same end is no end of the next generation.
            if status.error is None or status.generation == generation:
                return status
            if status.error == "busy" and self._peer.time.now() < deadline:
                self._peer.time.sleep(AGAIN_SECONDS)
                continue
            raise LinkError(f"{self._link.name}: the guard on the chip refuses the table: {status.error}")
        raise LinkError(f"{self._link.name}: the guard on the chip does not answer")

    def _answered(self, seen: int, generation: int | None) -> bool:
        if self._peer.status_count <= seen:
            return False
        status = None if self._peer.status is None else self._peer.status.guard
        # Of the end a late answer to a piece, or to hello, says nothing yet.
        return (
            generation is None
            or status is None
            or status.error is not None
            or status.generation == generation
        )
