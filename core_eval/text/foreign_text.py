"""Reads foreign text: plain or gzip, with or without a byte order mark, from a file or standard input."""

from __future__ import annotations

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

STDIN = Path("-")
"""The path that means standard input."""
GZIP = b"\x1f\x8b"
MOST_BYTES = 1 << 26
"""Bytes of a whole text, and of a line where lines are read one by one: a small gzip may hold far more."""
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
"""How the small file begins that Git keeps in place of a large one (Git LFS specification)."""
CHUNK = 1 << 16
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class ForeignTextError(ValueError):
    """Text that cannot be read; one line that gives the reason, without the file's name."""


@dataclass(frozen=True)
class Lines:
    """The lines of a file, split at newlines only (JSON text may contain other line separators).

    Attributes:
        lines: the bytes of each line; a file in UTF-16 is converted to UTF-8. Iterating raises
            ForeignTextError if the file is truncated, cannot be read or is a Git LFS pointer, or a line is
            longer than MOST_BYTES.
        size: of the file in bytes; None for standard input.
        position: bytes read so far.
    """

    lines: Iterator[bytes]
    size: int | None
    position: Callable[[], int]


@contextmanager
def open_lines(path: Path, *, whole: bool = True) -> Iterator[Lines]:
    """Open a file, or standard input for `-`, for reading line by line, or if not `whole` in chunks.

    Raises:
        ForeignTextError: it cannot be opened.
    """
    split = _bounded if whole else _chunks
    with ExitStack() as stack:
        try:
            raw = _open(stack, path)
            size = None if path == STDIN else path.stat().st_size
            stream = _plain(stack, raw)
            head = stream.peek(2)[:2]
        except (OSError, EOFError, zlib.error) as error:
            raise ForeignTextError(_reason(error)) from None
        if head in UTF_16:
            text = io.TextIOWrapper(stream, encoding="utf-16", newline="\n")
            yield Lines(_guarded(line.encode() for line in split(text)), size, raw.tell)
        else:
            yield Lines(_without_mark(_guarded(split(stream))), size, raw.tell)


def read_text(path: Path) -> str:
    """Read the whole text of a file, or of standard input for `-`; line ends become newlines.

    Raises:
        ForeignTextError: it cannot be read, has more than MOST_BYTES, or is not text.
    """
    whole = bytearray()
    with open_lines(path) as found:
        for line in found.lines:
            whole += line
            if len(whole) > MOST_BYTES:
                raise ForeignTextError(f"has more than {MOST_BYTES:,} bytes")
    try:
        return whole.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise ForeignTextError("it is not UTF-8 text") from None


def _open(stack: ExitStack, path: Path) -> BinaryIO:
    if path == STDIN:
        return cast("BinaryIO", sys.stdin.buffer)
    return stack.enter_context(path.open("rb"))


def _plain(stack: ExitStack, raw: BinaryIO) -> io.BufferedReader | gzip.GzipFile:
    """Return the stream, decompressed if its first bytes are gzip's; the name is ignored."""
    stream = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", raw))
    if stream.peek(2)[:2] != GZIP:
        return stream
    # It has a buffer. Another one around it would lose what stands before a broken place.
    return stack.enter_context(gzip.GzipFile(fileobj=stream, mode="rb"))


def _bounded(stream: io.BufferedReader | gzip.GzipFile | io.TextIOWrapper) -> Iterator[Any]:
    while line := stream.readline(MOST_BYTES + 1):
        if len(line) > MOST_BYTES:
            raise ForeignTextError(f"a line has more than {MOST_BYTES:,} bytes")
        yield line


def _chunks(stream: io.BufferedReader | gzip.GzipFile | io.TextIOWrapper) -> Iterator[Any]:
    read = stream.read if isinstance(stream, io.TextIOWrapper) else stream.read1
    while chunk := read(CHUNK):
        yield chunk


def _without_mark(lines: Iterator[bytes]) -> Iterator[bytes]:
    first = next(lines, None)
    if first is not None:
        if first.startswith(LFS_POINTER):
            raise ForeignTextError(
                "it is a Git LFS pointer, not the file itself: fetch that by `git lfs pull`"
            )
        yield first.removeprefix(codecs.BOM_UTF8)
        yield from lines


def _guarded(lines: Iterable[bytes]) -> Iterator[bytes]:
    try:
        yield from lines
    except (OSError, EOFError, UnicodeError, zlib.error) as error:
        raise ForeignTextError(_reason(error)) from None


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeError):
        return "it is not UTF-8 text, and broken as UTF-16"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"its gzip data is broken ({error})"
