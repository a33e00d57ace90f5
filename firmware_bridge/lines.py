"""The CRC-32 lines that carry JSON payloads over a serial line, and the payloads that links tell from others.

Light to import: a rig process on a serial line needs no messages.
"""

from __future__ import annotations

import re
import zlib

HOST_MAX_FRAME = 65_536
"""Bytes of the longest frame that a host accepts."""
DEFAULT_MAX_FRAME = 1_024
"""Bytes of the longest serial frame for a device whose status states none."""
STOP_BYTE = b"\x18"
"""Ctrl-X: the emergency stop on a serial line. JSON text never holds it."""
RESET = b'{"v":1,"op":"reset"}'
RESET_STOP_INPUT = b'{"v":1,"op":"reset","stop_input":true}'
RESETS = frozenset({RESET, RESET_STOP_INPUT})
"""The payloads of a reset, as `codec.encode` writes them."""

_CRC = re.compile(rb"[0-9A-F]{8}")


def to_line(payload: bytes) -> bytes:
    """Return the serial line: the JSON, `*`, its CRC-32 as eight upper-case hex digits, newline."""
    return b"%b*%08X\n" % (payload, zlib.crc32(payload))


def from_line(line: bytes) -> bytes | None:
    """Return the payload of a line without its newline, or None if its checksum is wrong.

    A carriage return at the end is ignored, since many boards send both.
    """
    line = line.removesuffix(b"\r")
    payload, crc = line[:-9], line[-8:]
    if line[-9:-8] != b"*" or _CRC.fullmatch(crc) is None or int(crc, 16) != zlib.crc32(payload):
        return None
    return payload


class LineDecoder:
    """Decodes the bytes of a serial line; after an error it resumes at the next newline.

    Attributes:
        dropped: lines that were too long or had a wrong checksum.
    """

    def __init__(self, max_frame: int = HOST_MAX_FRAME) -> None:
        self._max_frame = max_frame
        self._buffer = bytearray()
        self._skipping = False
        self.dropped = 0

    @property
    def mid_line(self) -> bool:
        """Whether a line is incomplete."""
        return self._skipping or bool(self._buffer)

    def feed(self, data: bytes) -> list[bytes]:
        """Return the payloads that these bytes complete."""
        payloads = []
        *ends, rest = data.split(b"\n")
        for part in ends:
            self._extend(part)
            if not self._skipping and self._buffer.strip():
                payload = from_line(bytes(self._buffer))
                if payload is None:
                    self.dropped += 1
                else:
                    payloads.append(payload)
            self._buffer.clear()
            self._skipping = False
        self._extend(rest)
        return payloads

    def _extend(self, part: bytes) -> None:
        if self._skipping:
            return
        if len(self._buffer) + len(part) > self._max_frame:
            self.dropped += 1
            self._skipping = True
            self._buffer.clear()
        else:
            self._buffer += part
