"""Escaping of control characters in everything that is printed.

Text of models, devices, servers, task files and logs is printed. An escape sequence in it could clear the
terminal, set its title, or write the clipboard. `guarded_output` replaces standard output and standard error
while a verb runs; `GuardedConsole` (console.py) escapes text before it is laid out and coloured.
"""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

from core_eval.text.visible_text import LINE_AND_TAB, visible


class GuardedStream(io.TextIOBase):
    """A text stream that escapes control characters.

    Args:
        stream: the underlying stream; also as `raw`, for text that is escaped already.
    """

    def __init__(self, stream: TextIO) -> None:
        self.raw = stream

    def write(self, text: str) -> int:
        """Write the escaped text; return the length of the given text."""
        self.raw.write(visible(text, LINE_AND_TAB))
        return len(text)

    def writable(self) -> bool:
        """Return True."""
        return True

    def flush(self) -> None:
        """Flush the underlying stream."""
        self.raw.flush()

    def isatty(self) -> bool:
        """Return whether the underlying stream is a terminal."""
        return self.raw.isatty()

    def fileno(self) -> int:
        """Return the underlying file descriptor."""
        return self.raw.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The underlying stream's encoding."""
        return self.raw.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """The underlying stream's error handler."""
        return self.raw.errors

    @property
    def buffer(self) -> Any:
        """The underlying binary buffer."""
        return self.raw.buffer


@contextmanager
def guarded_output() -> Iterator[None]:
    """Guard standard output and standard error; characters not in their encoding become question marks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    with redirect_stdout(_guarded(sys.stdout)), redirect_stderr(_guarded(sys.stderr)):
        yield


def _guarded(stream: TextIO) -> TextIO:
    return stream if isinstance(stream, GuardedStream) else cast("TextIO", GuardedStream(stream))


class _Terminal(io.FileIO):
    def write(self, text: Any) -> int:
        try:
            return super().write(text)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return len(text)


def survive_hangup() -> None:
    """Replace standard output and standard error by such streams, if they are terminals."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and stream.isatty():
            stream.flush()
            raw = _Terminal(stream.fileno(), "wb", closefd=False)
            outliving = io.TextIOWrapper(
                io.BufferedWriter(raw), stream.encoding, errors="replace", line_buffering=True
            )
            setattr(sys, name, outliving)
