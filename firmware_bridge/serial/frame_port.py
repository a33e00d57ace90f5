"""A serial port, or a TCP one, that is spoken in frames of bytes, for drivers in Python."""

from __future__ import annotations

import time
from collections.abc import Callable

from firmware_bridge.serial.address import DEFAULT_BAUD
from firmware_bridge.serial.open import close_serial, open_port, or_gone

SLICE = 0.005
"""Time between two looks for input, s."""
LONGEST_FRAME = 4096


class FramePort:
    """An open port, locked against other programs.

    Args:
        url: a serial URL.
        seconds: time for an answer.
        start: the bytes that each frame begins with.
        baud: unless the URL states it.

    Raises:
        OSError: it cannot be opened; so do all methods when it is lost.
    """

    def __init__(self, url: str, seconds: float, start: bytes, baud: int = DEFAULT_BAUD) -> None:
        self._seconds, self._start = seconds, start
        self._port = open_port(url, SLICE, baud)

    def send(self, frame: bytes) -> None:
        """Write a frame."""
        or_gone(lambda: self._port.write(frame))

    def ask(self, frame: bytes, answer: Callable[[bytes], bytes | None]) -> bytes:
        """Send a frame, and return the first answer. What came before is none.

        Args:
            frame: what to send.
            answer: is given what came, from each `start` on, and returns the answer that it begins with; None
                if it is no answer, or not whole yet.

        Raises:
            TimeoutError: none came; the text has the last bytes that came instead.
        """
        or_gone(self._port.reset_input_buffer)
        self.send(frame)
        heard, deadline = b"", time.monotonic() + self._seconds
        while time.monotonic() < deadline:
            heard = (heard + or_gone(lambda: self._port.read(self._port.in_waiting or 1)))[-LONGEST_FRAME:]
            at = heard.find(self._start)
            while at >= 0:
                if (found := answer(heard[at:])) is not None:
                    return found
                at = heard.find(self._start, at + 1)
        instead = f", but {heard[-32:].hex(' ')}" if heard else ""
        raise TimeoutError(f"no answer to {frame.hex(' ')}{instead}")

    def close(self) -> None:
        """Close the port. Never raises."""
        close_serial(self._port)


def crc16(data: bytes) -> int:
    """Return the CRC-16 with the polynomial 0x8005, reflected, from 0xFFFF: the checksum of Modbus RTU."""
    crc = 0xFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0xA001 if crc & 1 else crc >> 1
    return crc
