"""The pixels of a PNG file, as the W3C's recommendation of 2003 says: 8 bits a channel, not interlaced."""

from __future__ import annotations

import struct
import zlib

import numpy as np


def png_pixels(file: bytes) -> np.ndarray:
    """An array (height, width, channels) of the file's numbers."""
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    width, height, depth, kind = struct.unpack(">IIBB", file[16:26])
    channels = {2: 3, 6: 4}[kind]
    assert depth == 8
    packed, at = b"", 8
    while at < len(file):
        length, name = struct.unpack(">I4s", file[at : at + 8])
        packed += file[at + 8 : at + 8 + length] if name == b"IDAT" else b""
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + channels * width)
    pixels = np.zeros((height + 1, width + 1, channels), int)
    for y, row in enumerate(rows):
        given = row[1:].reshape(width, channels).astype(int)
        for x in range(width):
            left, up, corner = pixels[y + 1, x], pixels[y, x + 1], pixels[y, x]
            pixels[y + 1, x + 1] = (given[x] + _predicted(row[0], left, up, corner)) % 256
    return pixels[1:, 1:]


def _predicted(way: int, left: np.ndarray, up: np.ndarray, corner: np.ndarray) -> np.ndarray | int:
    if way < 4:
        return (0, left, up, (left + up) // 2)[way]
    a, b, c = (abs(left + up - corner - one) for one in (left, up, corner))
    return np.where((a <= b) & (a <= c), left, np.where(b <= c, up, corner))
