"""The parts of a plain file of lines, for several processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from core_eval.cli.output import UsageError
from core_eval.text.foreign_text import GZIP, MOST_BYTES, STDIN, UTF_16, ForeignTextError, open_lines

PART_BYTES = 1 << 22
"""Bytes of a part of another process."""


@dataclass(frozen=True)
class FilePart:
    """Whole lines of a file.

    Attributes:
        path: the file.
        start, size: the part's place in it, bytes.
        first: the number of its first line.
        content: its bytes, for a process that does not see the file.
    """

    path: Path
    start: int
    size: int
    first: int
    content: bytes | None = None

    def lines(self) -> Iterator[bytes]:
        """Return its lines."""
        if self.content is not None:
            return BytesIO(self.content)
        with self.path.open("rb") as file:
            file.seek(self.start)
            return BytesIO(file.read(self.size))


def parts_of_file(path: Path, *, carried: bool) -> Iterator[FilePart]:
    """Yield each part of a file, which ends with a line; `carried`: with its content.

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
    start, first = 0, 1
    with path.open("rb") as file:
        head = file.read(2)
        if head == GZIP or head in UTF_16:
            raise UsageError(
                f"--jobs: {path} is compressed, or UTF-16: make it plain UTF-8, or use one process"
            )
        file.seek(0)
        while block := file.read(PART_BYTES):
            block += file.readline(MOST_BYTES)
            yield FilePart(path, start, len(block), first, block if carried else None)
            start += len(block)
            first += block.count(b"\n")
