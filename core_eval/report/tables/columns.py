"""Tables as a list of columns: the same for a terminal, a page and Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from rich.text import Text

from core_eval.report.tables.fitted_table import Table
from core_eval.text.visible_text import visible

Row = TypeVar("Row")
MARKUP = re.compile(r"[\\`*\[\]<>|&@#]|(?<!\w)_|_(?!\w)")
"""What Markdown reads as markup, a mention or a reference."""


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column of a table whose rows are built of `Row`s.

    Attributes:
        heading: words.
        cell: what it shows of a row; may have several lines.
        kind: a `number` is set at the right and never broken, a `name` and `words` wrap.
        leaves: 0 for a column that stays; the others leave a narrow terminal, 1 first.
        more: whether a phone's page leaves it out.
    """

    heading: str
    cell: Callable[[Row], str | Text]
    kind: Literal["number", "name", "words"] = "number"
    leaves: int = 0
    more: bool = False


@dataclass(frozen=True)
class PageTable:
    """A table of a page: columns, as `(heading, kind, more)`, and the cells of each row."""

    columns: Sequence[tuple[str, str, bool]]
    rows: Sequence[Sequence[str]]


def terminal_table(columns: Sequence[Column[Row]], rows: Iterable[Row]) -> Table:
    """Return the table for a terminal."""
    leaving = sorted((one for one in columns if one.leaves), key=lambda one: one.leaves)
    table = Table(
        *(one.heading for one in columns),
        optional=[one.heading for one in leaving],
        numbers=[one.heading for one in columns if one.kind == "number"],
    )
    for row in rows:
        table.add_row(*(one.cell(row) for one in columns))
    return table


def page_table(columns: Sequence[Column[Row]], rows: Iterable[Row]) -> PageTable:
    """Return the table for a page; a column in which no row has anything is left out."""
    cells = [[_plain(one.cell(row)) for one in columns] for row in rows]
    kept = [
        k for k, one in enumerate(columns) if not one.leaves or any(row[k] not in ("", "-") for row in cells)
    ]
    return PageTable(
        [(columns[k].heading, columns[k].kind, columns[k].more) for k in kept],
        [[row[k] for k in kept] for row in cells],
    )


def markdown_table(columns: Sequence[Column[Row]], rows: Iterable[Row]) -> list[str]:
    """Return the lines of a Markdown table; foreign text cannot end a cell or become markup."""
    cells = [[markdown_text(_plain(one.cell(row))) for one in columns] for row in rows]
    head = [markdown_text(one.heading) for one in columns]
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(columns), *cells)]


def markdown_text(words: str) -> str:
    """Return a text whose signs Markdown does not read as its own."""
    return MARKUP.sub(lambda mark: f"&#{ord(mark[0])};", words).replace("\n", "<br>")


def _plain(cell: str | Text) -> str:
    return visible(cell if isinstance(cell, str) else cell.plain, "\n")
