"""What host and rig process say to each other over a socket pair: frames, and when the other is silent.

No input or output, and the clock is given.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from firmware_bridge.clock import Clock

BEAT_SECONDS = 1.0
"""Time between two signs of life of either side."""
SILENT_SECONDS = 3.0
"""Time without a frame after which a host counts as dead, and the rig is stopped."""
MISSED_BEATS = 3
"""Beats of its own in which a host hears nothing of the rig process before it takes that for dead."""
KEPT_SECONDS = 5.0
"""Time for which a stopped rig is kept for the next host, which then need not open its port."""
LATE_STOP_SECONDS = 60.0
"""Time to wait for a lost port with a stop pending when the host is gone."""
STRIKE = (0.0, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
"""Moments of the stop, in s: some firmware ignores input at times (FarmBot's for 0.2 s after each move)."""
LATE_STRIKE = (*STRIKE, 1.5, 2.0, 3.0, 4.0)
"""The same after the port was opened, which resets many a board: it is deaf until it has started."""


class Kind(IntEnum):
    """The kinds of frames. Requests begin with a number, which their `DONE` repeats."""

    MESSAGE = 1
    """Both ways: a payload of the wire."""
    BEAT = 2
    """Both ways: a sign of life; the rig's has the number of frames that it dropped."""
    STOP = 3
    """Request: stop the rig at once."""
    RESET = 4
    """Request: a reset's payload, which may take the machine's time."""
    ENSURE = 5
    """Request: open a lost wire again; the body is the time-out."""
    CLOSE = 6
    """Request: end in order."""
    DISCARD = 7
    """To the rig: forget what was not sent."""
    READY = 8
    """From the rig, first: the link's features."""
    REFUSED = 9
    """From the rig, first and last: why it cannot be opened."""
    UP = 10
    DOWN = 11
    """From the rig: the wire is restored, or lost, and why."""
    STRUCK = 12
    """From the rig: the host was silent, and the rig is stopped; again with how that went."""
    DONE = 13
    """From the rig: the result of a request."""
    TELL = 14
    """From the rig: a line for the person at the terminal."""


_HEAD = struct.Struct("!IB")
_NUMBER = struct.Struct("!I")


def frame(kind: Kind, body: bytes = b"") -> bytes:
    """Return a frame's bytes."""
    return _HEAD.pack(len(body), kind) + body


def request(kind: Kind, number: int, body: bytes = b"") -> bytes:
    """Return the bytes of a request."""
    return frame(kind, _NUMBER.pack(number) + body)


def numbered(body: bytes) -> tuple[int, bytes]:
    """Return the number of a request or of its `DONE`, and the rest."""
    return _NUMBER.unpack_from(body)[0], body[_NUMBER.size :]


def done(number: int, **result: Any) -> bytes:
    """Return the bytes of a request's result."""
    return frame(Kind.DONE, _NUMBER.pack(number) + json.dumps(result).encode())


@dataclass
class Frames:
    """Cuts a stream into frames."""

    _waiting: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> Iterator[tuple[Kind, bytes]]:
        """Yield the frames that are complete."""
        self._waiting += data
        while len(self._waiting) >= _HEAD.size:
            length, kind = _HEAD.unpack_from(self._waiting)
            end = _HEAD.size + length
            if len(self._waiting) < end:
                return
            body = bytes(self._waiting[_HEAD.size : end])
            del self._waiting[:end]
            yield Kind(kind), body


class HostWatch:
    """The rig's judgement on its host: silent for `SILENT_SECONDS`, it is as good as dead.

    Args:
        clock: one that goes on while the machine is suspended.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heard = self._beat = clock.now()
        self._struck = False

    def heard(self) -> None:
        """Note a frame of the host."""
        self._heard, self._struck = self._clock.now(), False

    def strikes(self) -> bool:
        """Return, once for each silence, whether the rig must be stopped now."""
        due = not self._struck and self._clock.now() - self._heard >= SILENT_SECONDS
        self._struck |= due
        return due

    def beats(self) -> bool:
        """Return whether a sign of life is due."""
        due = self._clock.now() - self._beat >= BEAT_SECONDS
        if due:
            self._beat = self._clock.now()
        return due

    @property
    def alive(self) -> bool:
        """Whether the host has given a sign of life since it was last silent."""
        return not self._struck

    @property
    def pause(self) -> float:
        """Seconds until something is due, at most those of a beat."""
        now = self._clock.now()
        times = [self._beat + BEAT_SECONDS - now, BEAT_SECONDS]
        if not self._struck:
            times.append(self._heard + SILENT_SECONDS - now)
        return max(0.0, min(times))


class RigWatch:
    """The host's judgement on the rig process, by its own beats: time in which it stood still is none.

    `beat` is called every `BEAT_SECONDS`.
    """

    def __init__(self) -> None:
        self._missed = 0

    def heard(self) -> None:
        """Note a frame of the rig process."""
        self._missed = 0

    def beat(self) -> bool:
        """Return whether the rig process is taken for dead."""
        self._missed += 1
        return self._missed > MISSED_BEATS
