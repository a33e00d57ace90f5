"""A foreign file as its pieces: lines of JSON, one JSON document, or a zip of JSON files."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from core_eval.imports.fields import RecordError, kind
from core_eval.text.foreign_json import ForeignJsonError, parse_json
from core_eval.text.foreign_text import MOST_BYTES, ForeignTextError, open_lines
from core_eval.text.json_stream import Piece, read_items

ZIP = b"PK\x03\x04"
ZSTANDARD = 93
"""The number of that method in a zip."""
LINES_SUFFIXES = frozenset({".jsonl", ".ndjson"})
MOST_LOOKED_AT = 400
"""Pieces of a document that are read to find its format: an object's members may be long lists."""


class ImportFileError(ValueError):
    """A file that cannot be imported; one line, without the file's name, that says what to do."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A piece that is no JSON, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class Shape:
    """What tells the format of a file.

    Attributes:
        form: of the file.
        keys: of the document where it is an object, else of its first record.
        names: of the files in a zip.
        listed: whether the document is an array, or lines.
    """

    form: Literal["zip", "lines", "json"]
    keys: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    listed: bool = False


@dataclass(frozen=True)
class Source:
    """A file that is imported. It may be read several times, each time from its beginning."""

    path: Path

    @cached_property
    def form(self) -> Literal["zip", "lines", "json"]:
        """Its form.

        Raises:
            ImportFileError: it cannot be read.
        """
        head = self._head(len(ZIP))
        if not head:
            raise ImportFileError("it is empty")
        if head == ZIP:
            return "zip"
        names = {suffix.lower() for suffix in self.path.suffixes[-2:]}
        return "lines" if self._is_lines(named_so=bool(names & LINES_SUFFIXES)) else "json"

    @cached_property
    def shape(self) -> Shape:
        """What tells its format.

        Raises:
            ImportFileError: it cannot be read, or has nothing in it.
        """
        if self.form == "zip":
            return Shape("zip", names=frozenset(self.members()))
        keys: set[str] = set()
        why = "it is empty"
        try:
            for key, value, _ in islice(self.items(), MOST_LOOKED_AT):
                if key is not None:
                    keys.add(key)
                elif isinstance(value, Mapping):
                    return Shape(self.form, frozenset(value), listed=True)
                elif isinstance(value, Unread):
                    why = value.why
                else:
                    raise ImportFileError(f"it holds {kind(value)} where a record must be an object")
        except ImportFileError as error:
            why = str(error)
        if not keys:
            raise ImportFileError(why)
        return Shape(self.form, frozenset(keys))

    def records(self) -> Iterator[Any]:
        """Yield each line, each element of an array, or a document that is an object as the one record.

        Raises:
            ImportFileError: the file cannot be read from here on.
        """
        if self.shape.listed:
            for piece in self.items():
                yield piece.value
            return
        members: dict[str, Any] = {}
        for key, value, of_list in self.items():
            if key is not None and of_list and isinstance(members.setdefault(key, []), list):
                members[key].append(value)
            elif key is not None:
                members[key] = value
        yield members

    def items(self) -> Iterator[Piece]:
        """Yield the pieces of a text: each line, or what `read_items` yields of a document.

        A line that is no JSON is `Unread`.

        Raises:
            ImportFileError: the file cannot be read from here on.
        """
        try:
            with open_lines(self.path, whole=self.form == "lines") as found:
                if self.form == "json":
                    yield from read_items(found.lines)
                    return
                for line in found.lines:
                    if line.strip():
                        yield Piece(None, _parsed(line))
        except (ForeignTextError, ForeignJsonError) as error:
            raise ImportFileError(str(error)) from None

    def members(self) -> list[str]:
        """Return the names of the files in a zip.

        Raises:
            ImportFileError: it is broken.
        """
        zipped = _zipfile()
        try:
            with zipped.ZipFile(self.path) as archive:
                return list(archive.namelist())
        except (OSError, zipped.BadZipFile, ValueError, NotImplementedError) as error:
            raise ImportFileError(f"it is a broken zip file ({error})") from None

    def member(self, name: str) -> Any:
        """Return a file of a zip, parsed.

        Raises:
            RecordError: it is missing, broken, too large or no JSON.
        """
        zipped = _zipfile()
        try:
            with zipped.ZipFile(self.path) as archive:
                packed = archive.getinfo(name).compress_type
                with archive.open(name) as file:
                    text = file.read(MOST_BYTES + 1)
        except KeyError:
            raise RecordError(f"there is no {name} in the file") from None
        except NotImplementedError as error:
            help = "pip install 'pathrig[inspect]'" if packed == ZSTANDARD else "pack it anew by deflate"
            raise RecordError(f"{name} cannot be unpacked ({error}): {help}") from None
        except Exception as error:
            # A damaged one raises what its decompressor raises.
            raise RecordError(f"{name} cannot be unpacked ({error})") from None
        try:
            return parse_json(text, max_bytes=MOST_BYTES, strict_numbers=False)
        except ForeignJsonError as error:
            raise RecordError(f"{name}: {error}") from None

    def _head(self, size: int) -> bytes:
        try:
            with self.path.open("rb") as file:
                return file.read(size)
        except OSError as error:
            raise ImportFileError(error.strerror or str(error)) from None

    def _is_lines(self, *, named_so: bool) -> bool:
        """Return whether the first line is one object and no document goes on behind it.

        Of a file that is named so, that its first line does not begin an array or a document of many lines.
        """
        first = last = b""
        ended = False
        try:
            with open_lines(self.path, whole=False) as found:
                for chunk in found.lines:
                    rest = chunk if first else chunk.lstrip()
                    if not ended:
                        line, newline, rest = rest.partition(b"\n")
                        first, last, ended = first or line[:1], line.rstrip()[-1:] or last, bool(newline)
                    if ended and (rest := rest.lstrip()):
                        if named_so:
                            return first != b"[" and last != b"{"
                        return first == b"{" and last == b"}" and rest[:1] not in b",}]"
        except ForeignTextError:
            # Who reads the file says what is wrong with it.
            return named_so
        return named_so and first != b"["


def _zipfile() -> Any:
    """Return what reads zip files: that of Python before 3.14 knows no Zstandard, which Inspect packs by."""
    if sys.version_info < (3, 14):
        with suppress(ImportError):
            return import_module("backports.zstd.zipfile")
    return import_module("zipfile")


def record_of(value: Any) -> Mapping[str, Any]:
    """Return a piece that must be an object.

    Raises:
        RecordError: it is none.
    """
    if isinstance(value, Unread):
        raise RecordError(value.why)
    if not isinstance(value, Mapping):
        raise RecordError(f"a record must be an object, not {kind(value)}")
    return value


def _parsed(line: bytes) -> Any:
    try:
        return parse_json(line, strict_numbers=False)
    except ForeignJsonError as error:
        return Unread(str(error))
