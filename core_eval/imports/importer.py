"""What an importer is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from core_eval.imports.record import ImportedTrace
from core_eval.imports.source import Shape, Source

Read = Callable[[int], ImportedTrace]
"""Reads one record, given its number; raises RecordError where it is broken."""


@dataclass(frozen=True)
class Importer:
    """A format of traces. A package registers it under the entry-point group `pathrig.imports`, by its name.

    Attributes:
        name: as in `--format NAME`.
        detects: tells whether a file of this shape has the format.
        read: yields what reads each record of a file, in order, given how traces and tasks are joined
            (None: by the file's own key). Raises ImportFileError where nothing more of the file can be read.
        joins: the ways to join traces and tasks, the file's own key first; empty: there is one way.
        rank: importers of lower rank are asked first.
    """

    name: str
    detects: Callable[[Shape], bool]
    read: Callable[[Source, str | None], Iterator[Read]]
    joins: tuple[str, ...] = ()
    rank: int = 0
