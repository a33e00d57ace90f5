"""Sends the guard on a device's chip its table, and what it does not see."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
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


def code_of_told(symbol: int, calls: int, generation: int, key: bytes) -> str:
    """Return the code with which a device takes a call that it does not see, of a table's generation."""
    return code_of(bytes([symbol]) + calls.to_bytes(2, "little"), generation, key)


class GuardLoader:
    """Loads tables over a link; what it says needs a code where the device takes it under a key alone."""

    def __init__(self, link: Link, peer: Peer, probe: Probe) -> None:
        self._link, self._peer, self._probe = link, peer, probe

    def load(self, table: bytes, key: bytes | None = None) -> wire.GuardStatus:
        """Load a table, which begins an episode, and return the guard's status; an empty one: no guard.

        Raises:
            LinkError: the device has no such guard, or refuses the table.
        """
        before = self._before()
        for at in range(0, len(table), PIECE_BYTES):
            self._say(wire.Guard(at=at, data=table[at : at + PIECE_BYTES].hex().upper()))
        generation = (before.generation + 1) % 2**32
        end = wire.Guard(
            length=len(table),
            sum=f"{zlib.crc32(table):08X}",
            mac=None if key is None else code_of(table, generation, key),
        )
        status = self._say(end, lambda now: now.generation == generation)
        if status.generation != generation or (status.state == "on") is not bool(table):
            raise LinkError(f"{self._link.name}: the guard on the chip holds another table: {status.table}")
        return status

    def tell(self, symbol: int, key: bytes | None = None) -> wire.GuardStatus:
        """Tell it of a read made without the device, by its table's number; return its status, or raise."""
        before = self._before()
        message = wire.Guard(
            told=symbol,
            calls=before.calls,
            mac=None if key is None else code_of_told(symbol, before.calls, before.generation, key),
        )
        return self._say(message, lambda now: now.calls == before.calls + 1)

    def _before(self) -> wire.GuardStatus:
        self._probe.hello(ANSWER_SECONDS)
        before = None if self._peer.status is None else self._peer.status.guard
        if before is None:
            raise LinkError(f"{self._link.name}: its firmware has no guard on the chip")
        return before

    def _say(
        self, message: wire.Guard, is_done: Callable[[wire.GuardStatus], bool] | None = None
    ) -> wire.GuardStatus:
        deadline = self._peer.time.now() + BUSY_SECONDS
        tries = TRIES
        while tries:
            seen = self._peer.status_count
            self._link.send(encode(message))
            if not self._peer.wait(partial(self._answered, seen, is_done), ANSWER_SECONDS):
                tries -= 1
                continue
            status = None if self._peer.status is None else self._peer.status.guard
            if status is None:
                break
            # The answer may have been lost, and the chip does not take the same twice.
            if status.error is None or (is_done is not None and is_done(status)):
                return status
            if status.error == "busy" and self._peer.time.now() < deadline:
                self._peer.time.sleep(AGAIN_SECONDS)
                continue
            raise LinkError(
                f"{self._link.name}: the guard on the chip refuses what it was sent: {status.error}"
            )
        raise LinkError(f"{self._link.name}: the guard on the chip does not answer")

    def _answered(self, seen: int, is_done: Callable[[wire.GuardStatus], bool] | None) -> bool:
        if self._peer.status_count <= seen:
            return False
        status = None if self._peer.status is None else self._peer.status.guard
        # A late answer to a piece, or to hello, says nothing yet.
        return is_done is None or status is None or status.error is not None or is_done(status)
