"""The parts of a plain file of traces, for several processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from core_eval.cli.output import UsageError
from core_eval.text.foreign_text import GZIP, MOST_BYTES, STDIN, UTF_16, ForeignTextError, open_lines

PART_BYTES = 1 << 22
"""Bytes of a part of another process."""


def parts_of_file(path: Path) -> Iterator[tuple[bytes, int]]:
    """Yield each part of a file, which ends with a line, and the number of its first line.

    Raises:
        UsageError: the file is no plain text in a file.
    """
    if path == STDIN:
        raise UsageError("--jobs and --dask need a file, not standard input")
    try:
        with open_lines(path) as found:
            next(found.lines, None)
    except ForeignTextError as error:
        raise UsageError(f"--traces {path}: {error}") from None
    first = 1
    with path.open("rb") as file:
        head = file.read(2)
        if head == GZIP or head in UTF_16:
            raise UsageError(
                f"--jobs: {path} is compressed, or UTF-16: make it plain UTF-8, or use one process"
            )
        file.seek(0)
        while block := file.read(PART_BYTES):
            block += file.readline(MOST_BYTES)
            yield block, first
            first += block.count(b"\n")
