"""Error messages for a rig that does not answer, with the likely cause."""

from __future__ import annotations

from firmware_bridge.link import Link
from firmware_bridge.peer import Peer


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
