"""Consoles for tables and styled text; control characters in what they print are escaped."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from itertools import accumulate

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Span, Text

from core_eval.cli.screen import GuardedStream
from core_eval.text.visible_text import LINE_AND_TAB, visible

PIPE_WIDTH = 200


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


def console(*, stderr: bool = False) -> Console:
    """Return a console as wide as COLUMNS, the terminal, or `PIPE_WIDTH`; colours on terminals only."""
    stream = sys.stderr if stderr else sys.stdout
    below = stream.raw if isinstance(stream, GuardedStream) else stream
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdigit() and int(columns) else None if below.isatty() else PIPE_WIDTH
    return GuardedConsole(file=below, width=width, highlight=False, markup=False, emoji=False)
