"""All importers: those that an installed package registers; and the reading of a file by one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from core_eval.imports.fields import RecordError
from core_eval.imports.record import BrokenRecord, ImportedTrace
from core_eval.imports.source import ImportFileError, Shape, Source
from devices.registry import Registry

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


IMPORTERS: Registry[Importer] = Registry("pathrig.imports", Importer)
"""Every importer, by name."""


def importer_of(source: Source) -> Importer:
    """Return the importer of a file's format.

    Raises:
        ImportFileError: the file cannot be read, or has no known format.
    """
    shape = source.shape
    for importer in sorted(IMPORTERS.values(), key=lambda one: one.rank):
        if importer.detects(shape):
            return importer
    found = ", ".join(sorted(shape.keys or shape.names)[:8]) or "nothing"
    raise ImportFileError(
        f"no known format has these keys: {found}; name it by --format {'|'.join(IMPORTERS)}"
    )


def read_traces(
    path: Path, form: str | None = None, join: str | None = None
) -> Iterator[ImportedTrace | BrokenRecord]:
    """Yield the traces of a file in order; a record that cannot be read is a `BrokenRecord`.

    Args:
        path: the file, plain or in gzip.
        form: the importer's name; None: it is found by the file's keys.
        join: how traces and tasks are joined, of the importer's `joins`; None: by the file's own key.

    Raises:
        ImportFileError: nothing in the file can be read.
        KeyError: there is no importer of that name.
    """
    source = Source(path)
    importer = importer_of(source) if form is None else IMPORTERS[form]
    number = 0
    try:
        for read in importer.read(source, join):
            number += 1
            try:
                yield read(number)
            except RecordError as error:
                yield BrokenRecord(number, str(error))
    except ImportFileError as error:
        if not number:
            raise
        yield BrokenRecord(number + 1, f"from here on the file cannot be read: {error}")
