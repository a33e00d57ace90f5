"""The rig lock on MQTT: a retained lease, so that one host at a time drives a rig.

Clocks of two hosts are never compared: a host that finds a lease waits for its next renewal, and takes the
lease for expired if none arrives within the lease's own duration.
"""

from __future__ import annotations

import getpass
import math
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from firmware_bridge import messages as wire
from firmware_bridge.clock import MONOTONIC, Clock
from firmware_bridge.codec import CodecError, decode_lease, encode
from firmware_bridge.link import LinkError, Tell

LEASE_SECONDS = 6.0
"""Duration of a lease without a renewal."""
MOST_SECONDS = 60.0
"""Longest accepted duration of a lease; a longer one is shortened to it."""
ECHO_SECONDS = 1.0
"""Time in which the broker must return our own claim."""


@dataclass(frozen=True)
class Claim:
    """A host's claim to a rig: `since` is the holder's wall clock (UTC); `n` counts the renewals."""

    id: str
    holder: str
    since: float
    seconds: float
    n: int = 0

    def refusal(self, rig: str) -> str:
        """Return one line for a host that is refused."""
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(self.since))
        return f"the rig {rig} is driven by {self.holder} since {since} UTC: end that first"

    def encode(self) -> bytes:
        """Return the claim as the lease's JSON."""
        return encode(
            wire.Lease(id=self.id, holder=self.holder, since=self.since, seconds=self.seconds, n=self.n)
        )


def decode_claim(payload: bytes) -> Claim | None:
    """Return the claim in a lease; None if it is empty or invalid."""
    try:
        lease = decode_lease(payload)
    except CodecError:
        return None
    # Foreign text that will be printed on a terminal.
    holder = "".join(character if character.isprintable() else "?" for character in lease.holder[:100])
    return Claim(str(lease.id), holder, lease.since, min(lease.seconds, MOST_SECONDS), lease.n)


class Lease:
    """Our end of a rig's lease.

    Args:
        rig: the rig's URL, for messages.
        publish: publishes a retained payload on the lease's topic; an empty one removes the lease.
        clock: by which leases expire.
    """

    def __init__(self, rig: str, publish: Callable[[bytes], object], clock: Clock = MONOTONIC) -> None:
        self._clock = clock
        self._rig = rig
        self._publish = publish
        self._changed = threading.Condition()
        self._mine = Claim(secrets.token_hex(8), _me(), 0.0, LEASE_SECONDS)
        self._other: Claim | None = None
        self._other_seen = 0.0
        self._other_lives = False
        self._echoed = False
        self._held = False
        self._down_since: float | None = None
        self.lost: str | None = None
        """Which host has taken our lease; one line."""

    @property
    def confirmed(self) -> bool:
        """Whether the broker has retained our claim; False if its access list forbids leases."""
        return self._held and self._echoed

    def holder(self) -> Claim | None:
        """Return the claim of another host, expired or not."""
        with self._changed:
            return self._other

    def take(self, payload: bytes, retained: bool) -> None:
        """Handle a message on the lease's topic; called on the connection's thread."""
        claim = decode_claim(payload)
        again = False
        with self._changed:
            if claim is not None and claim.id == self._mine.id:
                self._echoed = True
            elif claim is None:
                self._other = None
                again = self._held
            else:
                before = self._other
                self._other_lives = not retained or (before is not None and before != claim)
                self._other, self._other_seen = claim, self._clock.now()
                if self._held:
                    if (claim.since, claim.id) < (self._mine.since, self._mine.id):
                        self._held, self.lost = False, claim.refusal(self._rig)
                    else:
                        again = True
            self._changed.notify_all()
        if again:
            self.renew()

    def claim(self, timeout: float, tell: Tell) -> None:
        """Acquire the lease.

        Waits until an existing lease is renewed (then it is another host's), removed, or expired; `tell`
        receives the host that it waits for.

        Raises:
            LinkError: another host drives the rig; the text names it, and since when.
        """
        with self._changed:
            if self._held:
                return
            announced: str | None = None
            while (other := self._other) is not None:
                left = self._other_seen + other.seconds - self._clock.now()
                if self._other_lives and left > 0:
                    raise LinkError(other.refusal(self._rig))
                if left <= 0:
                    self._other = None
                    break
                if other.id != announced:
                    announced = other.id
                    tell(f"waiting for the lease of {other.holder}, at most {math.ceil(left)} s")
                self._clock.wait(self._changed, left)
            self._mine = replace(self._mine, since=time.time(), n=0)
            self._held, self._echoed, self.lost = True, False, None
        self._publish(self._mine.encode())
        with self._changed:
            self._changed.wait_for(lambda: self._echoed or not self._held, min(timeout, ECHO_SECONDS))
            if not self._held:
                raise LinkError(self.lost or f"the rig {self._rig} is driven by another host")

    def renew(self) -> None:
        """Renew the lease, if it is held."""
        with self._changed:
            if not self._held:
                return
            self._mine = replace(self._mine, n=self._mine.n + 1)
            payload = self._mine.encode()
        self._publish(payload)

    def link_changed(self, up: bool) -> None:
        """Note the state of the link; a lease that expired meanwhile becomes a new claim."""
        with self._changed:
            if not up:
                self._down_since = self._clock.now()
                return
            down, self._down_since = self._down_since, None
            if self._held and down is not None and self._clock.now() - down > self._mine.seconds:
                self._mine = replace(self._mine, since=time.time())
        self.renew()

    def release(self) -> None:
        """Release the lease."""
        with self._changed:
            held, self._held = self._held, False
        if held:
            self._publish(b"")


def _me() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"uid {os.getuid()}"
    return f"{user} on {socket.gethostname()} (process {os.getpid()})"
