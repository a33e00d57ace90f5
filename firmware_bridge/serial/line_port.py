"""A serial port that is spoken in lines, for drivers in Python."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from firmware_bridge.serial.address import DEFAULT_BAUD
from firmware_bridge.serial.open import close_serial, open_port, or_gone

SLICE = 0.02
"""Time between two looks for input, s."""
LONGEST_LINE = 4096
SHOWN = 3
"""Of the lines that came instead of an answer."""


class LinePort:
    """An open port, locked against other programs.

    Args:
        url: a serial URL.
        seconds: time for an answer.
        baud: unless the URL states it.
        end: what ends each line that is sent. Lines that come may end in LF, CR or both.
        other: is given each line that `ask` and `expect` read and that is no answer: an echo, a message that
            the hardware sends unasked, an answer that came too late.

    Raises:
        OSError: it cannot be opened; so do all methods when it is lost.
    """

    def __init__(
        self,
        url: str,
        seconds: float,
        baud: int = DEFAULT_BAUD,
        *,
        end: str = "\n",
        other: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._seconds, self._end, self._other = seconds, end, other
        self._port = open_port(url, SLICE, baud)
        self._waiting = b""

    def send(self, line: str) -> None:
        """Write a line."""
        or_gone(lambda: self._port.write(f"{line}{self._end}".encode("ascii", "replace")))

    def read(self, seconds: float) -> str | None:
        """Return the next line that is not empty; None after so long."""
        deadline = time.monotonic() + seconds
        while True:
            line, *rest = re.split(rb"[\r\n]+", self._waiting, maxsplit=1)
            if rest:
                self._waiting = rest[0]
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

        What came before is no answer to it.

        Raises:
            TimeoutError: none came; the text has the lines that came instead.
        """
        while (text := self.read(0.0)) is not None:
            self._other(text)
        self.send(line)
        return self.expect(answer, line, seconds)

    def expect(self, answer: str, asked: str, seconds: float | None = None) -> re.Match[str]:
        """Return the match of the next line that has this regular expression. Raises TimeoutError."""
        left = self._seconds if seconds is None else seconds
        deadline = time.monotonic() + left
        heard: list[str] = []
        while (left := deadline - time.monotonic()) > 0:
            if (text := self.read(left)) is None:
                continue
            if match := re.search(answer, text):
                return match
            heard.append(text)
            self._other(text)
        instead = f", but {', '.join(map(repr, heard[-SHOWN:]))}" if heard else ""
        raise TimeoutError(f"no answer to {asked!r}{instead}")

    def close(self) -> None:
        """Close the port. Never raises."""
        close_serial(self._port)
