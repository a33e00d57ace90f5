"""PNG files of arrays of pixels, and why there is none."""

from __future__ import annotations

import struct
import zlib
from typing import Any


def png(pixels: Any) -> bytes:
    """Return rows of RGB pixels, an array (height, width, 3) of bytes, as a PNG file."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


class PictureError(Exception):
    """No picture can be made; the text is one line that says why, and what to do."""


class CannotDrawError(PictureError):
    """No picture of any world of that kind can be made on this machine."""
