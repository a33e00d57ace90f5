"""A serial port that is spoken in lines, for drivers in Python."""

from __future__ import annotations

import re
import time

from firmware_bridge.serial.address import DEFAULT_BAUD
from firmware_bridge.serial.open import close_serial, open_port, or_gone

SLICE = 0.02
"""Time between two looks for input, s."""
LONGEST_LINE = 4096


class LinePort:
    """An open port, locked against other programs.

    Args:
        url: a serial URL.
        seconds: time for an answer.
        baud: unless the URL states it.

    Raises:
        OSError: it cannot be opened; so do all methods when it is lost.
    """

    def __init__(self, url: str, seconds: float, baud: int = DEFAULT_BAUD) -> None:
        self._seconds = seconds
        self._port = open_port(url, SLICE, baud)
        self._waiting = b""

    def send(self, line: str) -> None:
        """Write a line."""
        or_gone(lambda: self._port.write(f"{line}\n".encode("ascii", "replace")))

    def read(self, seconds: float) -> str | None:
        """Return the next line that is not empty; None after so long."""
        deadline = time.monotonic() + seconds
        while True:
            line, found, rest = self._waiting.partition(b"\n")
            if found:
                self._waiting = rest
                if text := line.decode("ascii", "replace").strip():
                    return text
            elif (data := or_gone(lambda: self._port.read(self._port.in_waiting or 1))) or (
                time.monotonic() < deadline
            ):
                self._waiting = (self._waiting + data)[-LONGEST_LINE:]
            else:
                return None

    def ask(self, line: str, answer: str, seconds: float | None = None) -> re.Match[str]:
        """Send a line, and return the match of the first answer that has this regular expression.

        Raises:
            TimeoutError: none came.
        """
        while self.read(0.0) is not None:
            # It answers nothing that is asked now.
            pass
        self.send(line)
        return self.expect(answer, line, seconds)

    def expect(self, answer: str, asked: str, seconds: float | None = None) -> re.Match[str]:
        """Return the match of the next line that has this regular expression. Raises TimeoutError."""
        left = self._seconds if seconds is None else seconds
        deadline = time.monotonic() + left
        while (left := deadline - time.monotonic()) > 0:
            text = self.read(left)
            if text is not None and (match := re.search(answer, text)):
                return match
        raise TimeoutError(f"no answer to {asked!r}")

    def close(self) -> None:
        """Close the port. Never raises."""
        close_serial(self._port)
