"""Reads a JSON document of any size piece by piece: the members of an object, the elements of arrays.

A library for this (ijson) has no bound on the size of one value, and refuses the NaN that Python writes.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from core_eval.text.foreign_json import MAX_DEPTH, MAX_DIGITS, ForeignJsonError, check_depth
from core_eval.text.foreign_text import MOST_BYTES

LEAST_CHARACTERS = 1 << 16
LONGEST_WORD = 16
"""Characters before the end of what is read in which a number, a literal or an escape may be cut off."""


class Piece(NamedTuple):
    """A piece of a document: a member of an object, or an element of an array.

    Attributes:
        key: of the member; None in a document that is no object.
        value: the member, or the element.
        of_list: whether it is an element. An empty array is a piece itself.
    """

    key: str | None
    value: Any
    of_list: bool = False


def read_items(chunks: Iterable[bytes]) -> Iterator[Piece]:
    """Yield what a document consists of, in order.

    Of an array, each element. Of an object, each member; of a member that is an array, each element.

    Raises:
        ForeignJsonError: the document is no JSON, or one of its pieces is nested too deep, has numbers that
            are too long, or more than MOST_BYTES characters. What was yielded before holds.
    """
    text = _Text(chunks)
    first = text.peek()
    if first == "[":
        for value in text.elements():
            yield Piece(None, value, True)
    elif first == "{":
        for key in text.members():
            if text.peek() == "[":
                empty = True
                for value in text.elements():
                    empty = False
                    yield Piece(key, value, True)
                if empty:
                    yield Piece(key, [])
            else:
                yield Piece(key, text.value())
    else:
        yield Piece(None, text.value())
    if text.peek():
        raise ForeignJsonError(f"no JSON: more text after the document, at character {text.at}")


class _Text:
    """A text that is read as far as it is needed."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._scan = json.JSONDecoder().raw_decode
        self._text, self._place, self._before, self._ended = "", 0, 0, False

    @property
    def at(self) -> int:
        """The number of characters before the place."""
        return self._before + self._place

    def peek(self) -> str:
        """Skip white space; return the next character, or nothing at the end."""
        while True:
            while self._place < len(self._text):
                sign = self._text[self._place]
                if sign not in " \t\n\r":
                    return sign
                self._place += 1
            if not self._read():
                return ""

    def take(self, sign: str) -> None:
        """Skip this sign, which must be the next one."""
        if (found := self.peek()) != sign:
            what = f"{found!r}" if found else "the end"
            raise ForeignJsonError(f"no JSON: {what} in place of {sign!r} at character {self.at}")
        self._place += 1

    def value(self) -> Any:
        """Return the next value."""
        self.peek()
        while True:
            try:
                value, end = self._scan(self._text, self._place)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated") or error.pos > len(self._text) - LONGEST_WORD
                if cut and self._read():
                    continue
                raise ForeignJsonError(
                    f"no JSON: {error.msg} at character {self._before + error.pos}"
                ) from None
            except RecursionError:
                raise ForeignJsonError(f"nested deeper than {MAX_DEPTH} levels") from None
            except ValueError:
                raise ForeignJsonError(f"a whole number of more than {MAX_DIGITS} digits") from None
            # A number may go on.
            if end == len(self._text) and self._read():
                continue
            self._place = end
            check_depth(value)
            return value

    def elements(self) -> Iterator[Any]:
        """Yield the elements of the array that comes next."""
        yield from self._parts("[", "]", self.value)

    def members(self) -> Iterator[str]:
        """Yield each key of the object that comes next; its value must be read before the next one."""
        for key in self._parts("{", "}", self.value):
            if not isinstance(key, str):
                raise ForeignJsonError(f"no JSON: {key!r} in place of a key before character {self.at}")
            self.take(":")
            yield key

    def _parts(self, begin: str, end: str, read: Any) -> Iterator[Any]:
        self.take(begin)
        if self.peek() == end:
            self.take(end)
            return
        while True:
            yield read()
            if self.peek() == end:
                break
            self.take(",")
        self.take(end)

    def _read(self) -> bool:
        """Read at least as much as waits already, so that a long value costs its length a few times only."""
        if self._ended:
            return False
        waiting = self._text[self._place :]
        if len(waiting) > MOST_BYTES:
            raise ForeignJsonError(f"a value of more than {MOST_BYTES:,} characters at character {self.at}")
        parts, size = [waiting], 0
        try:
            while size < max(LEAST_CHARACTERS, len(waiting)):
                chunk = next(self._chunks, None)
                part = self._decoder.decode(chunk or b"", final=chunk is None)
                parts.append(part)
                size += len(part)
                if chunk is None:
                    self._ended = True
                    break
        except UnicodeDecodeError:
            raise ForeignJsonError(f"not UTF-8 text after character {self.at}") from None
        self._before += self._place
        self._text, self._place = "".join(parts), 0
        return size > 0
