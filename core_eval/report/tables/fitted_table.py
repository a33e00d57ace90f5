"""Tables for any width: columns give way, names and words wrap, and no number is ever broken.

Where a table is too wide, its names and sentences wrap first; then the columns that it may do without leave,
and a line says which; where that is not enough either, each row becomes a paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from core_eval.text.visible_text import visible

NARROWEST = 20
"""Characters; a narrower place is written to as if it had these."""
LEAST_NAME, LEAST_TEXT = 16, 40
"""A column that wraps keeps a third of its width, and as much as this where a third is less, or more."""
GAP = 2
INDENT = "  "
WORD = re.compile(r"\s*\S+\s*|\s+")
PIECE = re.compile(r".+?(?:[_/#(]+(?![_/#(])|[:,](?!\d)|[-.](?=[^\W\d])|$)", re.DOTALL)
"""What a name may be broken into; never within a number or a time of day."""


@dataclass
class FittedColumn:
    """A column; what is right-justified are numbers, which stay whole.

    Attributes:
        heading: words; may be broken at spaces.
        max_width: what is wider wraps, also where there is room.
        least: width below which it does not go; None: a share of its widest cell.
    """

    heading: str
    justify: Literal["left", "right"] = "left"
    max_width: int | None = None
    least: int | None = None

    @property
    def unbroken(self) -> bool:
        """Whether its cells stay whole."""
        return self.justify == "right"


class Table:
    """A table that fits the width that it is printed at; a rich renderable.

    Args:
        headings: one for each column.
        optional: headings of columns that may leave, the first to go first.
        numbers: headings of columns whose cells are never broken.

    Attributes:
        columns: as they may be changed before the table is printed.
        caption: a line below the table.
    """

    def __init__(self, *headings: str, optional: Sequence[str] = (), numbers: Sequence[str] = ()) -> None:
        self.columns = [FittedColumn(one, "right" if one in numbers else "left") for one in headings]
        self.caption = ""
        self.optional = tuple(optional)
        self._rows: list[list[Text]] = []

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def add_row(self, *cells: str | Text) -> None:
        """Add a row, with a cell for each column; a cell may have several lines."""
        if len(cells) != len(self.columns):
            raise ValueError(f"{len(cells)} cells for {len(self.columns)} columns")
        self._rows.append([_as_text(cell) for cell in cells])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines of the table."""
        width = max(options.max_width, NARROWEST)
        shown = self._shown(width)
        yield Text()
        if shown is None:
            yield from self._paragraphs(width)
        else:
            yield from self._lines(shown, self._widths(shown, width))
            yield from self._left_out(shown, width)
        if self.caption:
            yield from hanging(Text(visible(self.caption)), width, INDENT)

    def _left_out(self, shown: Sequence[int], width: int) -> Iterable[Text]:
        left_out = [one.heading for place, one in enumerate(self.columns) if place not in shown]
        if left_out:
            yield from hanging(
                Text(f"not shown at {width} columns: {', '.join(left_out)}", style="dim"), width, INDENT
            )

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the range of widths: any width fits, and the cells limit the useful one."""
        every = list(range(len(self.columns)))
        natural = sum(map(self._natural, every)) + GAP * (len(every) - 1)
        return Measurement(NARROWEST, natural).with_maximum(options.max_width)

    def _shown(self, width: int) -> list[int] | None:
        """Return the places of the columns that stay; None where not even those that must be there fit."""
        shown = list(range(len(self.columns)))
        leaving = iter(self.optional)
        while sum(map(self._least, shown)) + len(shown) - 1 > width:
            heading = next(leaving, None)
            if heading is None:
                return None
            shown = [place for place in shown if self.columns[place].heading != heading]
        return shown

    def _widths(self, shown: Sequence[int], width: int) -> dict[int, int]:
        """Return the width of each column: what it needs at least, and then what it would like."""
        widths = {place: self._least(place) for place in shown}
        spare = width - sum(widths.values()) - (len(shown) - 1)
        wanting = sorted(shown, key=lambda place: self._natural(place) - widths[place])
        for rank, place in enumerate(wanting):
            more = min(self._natural(place) - widths[place], spare // (len(wanting) - rank))
            widths[place] += more
            spare -= more
        if spare >= (GAP - 1) * (len(shown) - 1):
            widths.update({place: widths[place] + GAP - 1 for place in shown[:-1]})
        return widths

    def _natural(self, place: int) -> int:
        """Return the width at which nothing wraps but the heading."""
        column = self.columns[place]
        widest = _widest(line for row in self._rows for line in row[place].plain.split("\n"))
        if column.max_width is not None and not column.unbroken:
            widest = min(widest, column.max_width)
        return max(widest, _heading_width(column.heading))

    def _least(self, place: int) -> int:
        column, natural = self.columns[place], self._natural(place)
        if column.unbroken:
            return natural
        least = column.least or max(LEAST_NAME, min(LEAST_TEXT, natural // 3))
        return max(min(natural, least), _widest(column.heading.split()))

    def _lines(self, shown: Sequence[int], widths: dict[int, int]) -> Iterable[Text]:
        columns = [self.columns[place] for place in shown]
        inner = [min(widths[place], self._natural(place)) for place in shown]
        heads = [
            wrapped(Text(one.heading, style="bold"), wide) for one, wide in zip(columns, inner, strict=True)
        ]
        high = max(map(len, heads))
        outer = [widths[place] for place in shown]
        yield from _side_by_side(
            [[Text()] * (high - len(lines)) + lines for lines in heads], columns, inner, outer
        )
        yield Text("─" * (sum(inner[-1:]) + sum(outer[:-1]) + len(outer) - 1))
        for row in self._rows:
            cells = [wrapped(row[place], wide) for place, wide in zip(shown, inner, strict=True)]
            yield from _side_by_side(cells, columns, inner, outer)

    def _paragraphs(self, width: int) -> Iterable[Text]:
        for row in self._rows:
            items = [
                Text.assemble((f"{column.heading}: ", "dim"), Text(", ").join(cell.split("\n")))
                for column, cell in zip(self.columns, row, strict=True)
                if cell.plain
            ]
            line = Text()
            for item in items:
                if line.plain.strip() and line.cell_len + GAP + item.cell_len > width:
                    yield line
                    line = Text(INDENT)
                line = Text.assemble(line, " " * GAP if line.plain.strip() else "", item)
                if line.cell_len > width:
                    *full, line = hanging(line, width, INDENT * 2)
                    yield from full
            yield line


@dataclass(frozen=True)
class Hanging:
    """A line that wraps below itself, indented by so many spaces; a rich renderable."""

    text: Text
    indent: int = 5

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines."""
        yield from hanging(self.text, max(options.max_width, NARROWEST), " " * self.indent)


def hanging(text: Text, width: int, indent: str) -> list[Text]:
    """Return the text in lines of at most this width, all but the first indented."""
    lines = wrapped(text, width)
    if len(lines) < 2:
        return lines
    rest = text[len(lines[0]) :]
    further = wrapped(rest[len(rest.plain) - len(rest.plain.lstrip()) :], width - len(indent))
    return [lines[0], *(Text.assemble(indent, line) for line in further)]


def wrapped(text: Text, width: int) -> list[Text]:
    """Return the text in lines of at most this width, broken at spaces, within names, and else anywhere."""
    lines = []
    for part in text.split("\n", allow_blank=True) if text.plain else [text]:
        fits = cell_len(part.plain) <= width
        for line in part.divide([] if fits else _breaks(part.plain, width)):
            line.rstrip()
            lines.append(line)
    return lines


def _breaks(plain: str, width: int) -> list[int]:
    """Return where lines begin, except the first."""
    breaks: list[int] = []
    used = 0

    def place(start: int, token: str) -> None:
        nonlocal used
        if used and used + cell_len(token.rstrip()) > width:
            breaks.append(start)
            used = 0
        used += cell_len(token)

    for word in WORD.finditer(plain):
        if cell_len(word.group().rstrip()) <= width:
            place(word.start(), word.group())
            continue
        for piece in PIECE.finditer(word.group()):
            start = word.start() + piece.start()
            if cell_len(piece.group().rstrip()) <= width:
                place(start, piece.group())
            else:
                for offset, sign in enumerate(piece.group()):
                    place(start + offset, sign)
    return breaks


def _side_by_side(
    cells: Sequence[Sequence[Text]],
    columns: Sequence[FittedColumn],
    inner: Sequence[int],
    outer: Sequence[int],
) -> Iterable[Text]:
    for number in range(max(map(len, cells))):
        line = Text()
        for lines, column, wide, room in zip(cells, columns, inner, outer, strict=True):
            own = lines[number] if number < len(lines) else Text()
            before = wide - own.cell_len if column.justify == "right" else 0
            line = Text.assemble(line, " " * before, own, " " * (room + 1 - before - own.cell_len))
        line.rstrip()
        yield line


def _heading_width(heading: str) -> int:
    """Return the least width in which a heading takes two lines."""
    words = heading.split()
    ways = ((" ".join(words[:cut]), " ".join(words[cut:])) for cut in range(len(words)))
    return min((max(map(cell_len, way)) for way in ways), default=0)


def _widest(lines: Iterable[str]) -> int:
    return max(map(cell_len, lines), default=0)


def _as_text(cell: str | Text) -> Text:
    text = cell if isinstance(cell, Text) else Text(cell)
    shown = visible(text.plain, "\n")
    return text if shown == text.plain else Text(shown, style=text.style)
