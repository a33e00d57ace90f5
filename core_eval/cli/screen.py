"""What reaches the terminal, or a pipe: colours of our own, and no control character of anybody else's.

Models, devices, servers, task files and logs put words on the screen. Raw, an escape sequence among them
could clear it, set its title, or write the clipboard. `guarded_output` stands before standard output and
standard error while a verb runs, whoever writes; `GuardedConsole` lays the same escaped text out in colours.
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

from core_eval.path.visible_text import LINE_AND_TAB, visible

PIPE_WIDTH = 200


class GuardedStream(io.TextIOBase):
    """A text stream that passes on what is written to it, with control characters as their escapes.

    Args:
        stream: where the text goes; `raw` is this stream itself, for text that is escaped already.
    """

    def __init__(self, stream: TextIO) -> None:
        self.raw = stream

    def write(self, text: str) -> int:
        """Write the text; the answer is its own length."""
        self.raw.write(visible(text, LINE_AND_TAB))
        return len(text)

    def writable(self) -> bool:
        """It is there to be written to."""
        return True

    def flush(self) -> None:
        """Pass on what is held back."""
        self.raw.flush()

    def isatty(self) -> bool:
        """Whether a terminal shows it."""
        return self.raw.isatty()

    def fileno(self) -> int:
        """The descriptor below."""
        return self.raw.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding below."""
        return self.raw.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """What becomes of characters that the encoding lacks."""
        return self.raw.errors

    @property
    def buffer(self) -> Any:
        """The bytes below, for programs that write bytes."""
        return self.raw.buffer


class GuardedConsole(Console):
    """A rich console that shows control characters as their escapes, wherever they stand."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of a renderable; what text it held is escaped before it is measured and wrapped."""
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
    """The text with its styles, and with control characters as their escapes."""
    if visible(text.plain, LINE_AND_TAB) == text.plain:
        return text
    shown = [visible(sign, LINE_AND_TAB) for sign in text.plain]
    places = list(accumulate(map(len, shown), initial=0))
    escaped = text.blank_copy("".join(shown))
    escaped.spans = [Span(places[span.start], places[span.end], span.style) for span in text.spans]
    return escaped


@contextmanager
def guarded_output() -> Iterator[None]:
    """Standard output and standard error, guarded; what their encoding lacks becomes a question mark."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    with redirect_stdout(_guarded(sys.stdout)), redirect_stderr(_guarded(sys.stderr)):
        yield


def console(*, stderr: bool = False) -> Console:
    """Colours on a terminal, plain lines elsewhere; as wide as COLUMNS says, a pipe else 200 characters."""
    stream = sys.stderr if stderr else sys.stdout
    below = stream.raw if isinstance(stream, GuardedStream) else stream
    told = os.environ.get("COLUMNS", "")
    width = int(told) if told.isdigit() and int(told) else None if below.isatty() else PIPE_WIDTH
    return GuardedConsole(file=below, width=width, highlight=False, markup=False, emoji=False)


def _guarded(stream: TextIO) -> TextIO:
    return stream if isinstance(stream, GuardedStream) else cast("TextIO", GuardedStream(stream))
