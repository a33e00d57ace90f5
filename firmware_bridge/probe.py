"""Messages that every device answers in any state: hello and ping."""

from __future__ import annotations

import threading
from collections.abc import Callable

from firmware_bridge import messages as wire
from firmware_bridge.codec import encode
from firmware_bridge.link import Link, LinkError
from firmware_bridge.peer import Peer

HELLO = encode(wire.Hello())
PING = encode(wire.Ping())
MOST_PINGS = 3
"""Pings until one is answered for certain."""
PONG_SECONDS = 0.2
"""Time in which a pong follows the answer to a hello that was sent after its ping."""


class Probe:
    """Asks the far end of a link for its status and its clock. Methods may be called from any thread."""

    def __init__(self, link: Link, peer: Peer) -> None:
        self._link, self._peer = link, peer
        self._one_ping = threading.Lock()

    def hello(self, timeout: float) -> bool:
        """Send hello and return whether a status arrived within `timeout` seconds. Raises LinkError."""
        return self.hello_until(lambda status: True, self._peer.status_count, timeout)

    def hello_until(self, accept: Callable[[wire.Status], bool], seen: int, timeout: float) -> bool:
        """Send hello and return whether an accepted status arrived after the first `seen` ones.

        Raises:
            LinkError: the link is down.
        """
        peer = self._peer
        self._link.send(HELLO)
        return peer.wait(
            lambda: peer.status_count > seen and peer.status is not None and accept(peer.status), timeout
        )

    def ping(self, timeout: float) -> float:
        """Measure the device's clock and return the round trip in seconds.

        Raises:
            LinkError: no answer, or the link is down.
        """
        return self._ping(timeout)[0]

    def _ping(self, timeout: float) -> tuple[float, bool]:
        peer = self._peer
        with self._one_ping:
            with peer.lock:
                peer.pong = None
            sent, seen = peer.time.now(), peer.status_count
            self._link.send(PING)
            left, greets = timeout, not peer.pongs and not peer.answers_no_pings
            if greets:
                # A device that answers this alone has shown that it answers no pings.
                self._link.send(HELLO)
                peer.wait(lambda: peer.pong is not None or peer.status_count > seen, timeout)
                left = min(PONG_SECONDS, sent + timeout - peer.time.now())
            peer.wait(lambda: peer.pong is not None, left)
            answer = peer.pinged(sent, greets and peer.status_count > seen)
            if peer.clock.doubtful:
                # The status of a device that was reset has another boot, and the peer takes note of it.
                peer.clock.doubtful = not self.hello(timeout)
                if peer.clock.doubtful:
                    raise LinkError(f"no status from {self._link.name} within {timeout:.2g} s")
        if answer is None:
            raise LinkError(f"no pong from {self._link.name} within {timeout:.2g} s")
        return answer

    def measure(self, timeout: float) -> bool:
        """Ping until the clock is measured, and return whether the device answered."""
        try:
            # The pong after a missed one may be that one, late; another thread may miss the next.
            return any(self._ping(timeout)[1] for _ in range(MOST_PINGS))
        except LinkError:
            return False


def no_answer(link: Link, peer: Peer, what: str, timeout: float, before: tuple[int, int, int]) -> str:
    """Return one line about a call of tool `what` that had no answer for `timeout` seconds.

    `before`: how many frames, by its start, fitted no message, failed their checksum, or answered no call
    of ours.
    """
    texts = (
        f"of no valid message (the last: {peer.last_unfit})",
        "with a wrong checksum",
        "with results of other calls",
    )
    counts = [now - then for now, then in zip((peer.unfit, link.dropped, peer.strays), before, strict=True)]
    came = [f"{count} {text}" for count, text in zip(counts, texts, strict=True) if count]
    if came:
        text = "; frames were dropped meanwhile: "
        return f"the rig {link.name} did not answer {what} in {timeout:g} s{text}{', '.join(came)}"
    # A broker of 3.1.1 acknowledges what its access list drops.
    silent = link.brokered and peer.time.now() - peer.last_heard > timeout
    hint = ", and nothing else: does the broker's access list drop our calls?" if silent else ""
    return f"the rig {link.name} did not answer {what} in {timeout:g} s{hint}"


def no_response(link: Link, peer: Peer, timeout: float) -> str:
    """Return one line about a rig that did not answer hello for `timeout` seconds."""
    status = peer.status
    if status is not None and status.state == "offline":
        return f"the rig {link.name} is offline: start it, or check its power and network"
    silence = f"no response from {link.name} within {timeout:g} s"
    if peer.unfit > 0:
        frames = (
            "1 frame came that does not fit"
            if peer.unfit == 1
            else f"{peer.unfit} frames came that do not fit"
        )
        return f"{silence}: {frames}: {peer.last_unfit}"
    if status is not None and link.brokered:
        return (
            f"the rig {link.name} says that it is {status.state}, but does not answer within "
            f"{timeout:g} s: does the broker's access list let us write its call and read its result?"
        )
    if link.dropped:
        return f"{silence}: {link.dropped} lines came that do not check: is the baud rate right?"
    return f"{silence}: is the rig on, and the name right?"
