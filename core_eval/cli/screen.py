"""Escaping of control characters in everything that is printed.

Text of models, devices, servers, task files and logs is printed. An escape sequence in it could clear the
terminal, set its title, or write the clipboard. `guarded_output` replaces standard output and standard error
while a verb runs; `GuardedConsole` escapes text before it is laid out and coloured.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from itertools import accumulate
from typing import Any, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Span, Text

from core_eval.text.visible_text import LINE_AND_TAB, visible

PIPE_WIDTH = 200


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


class GuardedConsole(Console):
    """A rich console that escapes control characters."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Return the segments of a renderable; its text is escaped before it is measured and wrapped."""
        if isinstance(renderable, str):
            renderable = visible(renderable, LINE_AND_TAB)
        elif isinstance(renderable, Text):
            renderable = visible_text(renderable)
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible(segment.text, LINE_AND_TAB), segment.style)


def visible_text(text: Text) -> Text:
    """Return the text with escaped control characters, and its styles."""
    if visible(text.plain, LINE_AND_TAB) == text.plain:
        return text
    shown = [visible(sign, LINE_AND_TAB) for sign in text.plain]
    places = list(accumulate(map(len, shown), initial=0))
    escaped = text.blank_copy("".join(shown))
    escaped.spans = [Span(places[span.start], places[span.end], span.style) for span in text.spans]
    return escaped


@contextmanager
def guarded_output() -> Iterator[None]:
    """Guard standard output and standard error; characters not in their encoding become question marks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    with redirect_stdout(_guarded(sys.stdout)), redirect_stderr(_guarded(sys.stderr)):
        yield


def console(*, stderr: bool = False) -> Console:
    """Return a console as wide as COLUMNS, the terminal, or `PIPE_WIDTH`; colours on terminals only."""
    stream = sys.stderr if stderr else sys.stdout
    below = stream.raw if isinstance(stream, GuardedStream) else stream
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdigit() and int(columns) else None if below.isatty() else PIPE_WIDTH
    return GuardedConsole(file=below, width=width, highlight=False, markup=False, emoji=False)


def _guarded(stream: TextIO) -> TextIO:
    return stream if isinstance(stream, GuardedStream) else cast("TextIO", GuardedStream(stream))
