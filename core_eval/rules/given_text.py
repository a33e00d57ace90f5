"""What an agent was given: texts and results, with the words and numbers that stand in them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from core_eval.path.calls import Call
from core_eval.text.notation import NAME_PART, Quantity, name_words, normal, quantities, unit_of
from core_eval.text.values import as_float, is_number

EXCERPT = 60
"""Characters of a text that are shown around what was found."""


class PlaceKind(StrEnum):
    """Where a value stands."""

    PROMPT = "prompt"
    CONVERSATION = "conversation"
    RESULT = "result"
    SCHEMA = "schema"
    """A default, or one of the values that the schema lists."""
    DERIVED = "derived"
    """A sum, difference or count of given numbers, or a day or duration by given ones."""
    NOWHERE = "nowhere"


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a text or a result.

    Attributes:
        key: the words of the key that it stands under, or of the word after it.
        keys: the words of all keys that it stands under.
        is_count: whether it is the length of a list.
        beside: the keys of its object, in normal form; its own is `at`.
    """

    quantity: Quantity
    key: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()
    is_count: bool = False
    at: str = ""
    beside: frozenset[str] = frozenset()

    def is_left_out(self, named: Collection[str]) -> bool:
        """Return whether a call names another entry of its object."""
        return self.at not in named and not self.beside.isdisjoint(named)


@dataclass
class Text:
    """A text that an agent was given, or a result of one of its calls.

    Attributes:
        raw: its words; of a result, its keys and values.
        call: whose result it is.
        asked: the normal form of the arguments of its call.
        failed: whether its call failed, so that it may repeat them without knowing them.
    """

    kind: PlaceKind
    raw: str
    step: int | None = None
    call: Call | None = None
    words: str = ""
    numbers: list[Number] = field(default_factory=list)
    records: list[tuple[frozenset[str], list[Number]]] = field(default_factory=list)
    asked: frozenset[str] = frozenset()
    failed: bool = False
    _pieces: tuple[str, Collection[int]] = ("", ())

    def repeats(self, value: str) -> bool:
        """Return whether it is an error that may only repeat a value of its call."""
        return self.failed and value in self.asked

    def has_in_pieces(self, value: str) -> bool:
        """Return whether words in a row, written as one, are the value."""
        if not self._pieces[0]:
            self._pieces = _in_one(self.words)
        joined, edges = self._pieces
        at = joined.find(value)
        while at >= 0:
            if at in edges and at + len(value) in edges:
                return True
            at = joined.find(value, at + 1)
        return False

    def excerpt(self, found: str) -> str:
        """Return some of the text around a word."""
        at = self.raw.casefold().find(found.casefold())
        start = self.raw.rfind(" ", 0, max(0, at - EXCERPT // 2)) + 1
        return " ".join(self.raw[start : start + EXCERPT].split())


def _in_one(words: str) -> tuple[str, Collection[int]]:
    """Return words written as one, and where they begin and end; a bar parts those of two values."""
    edges, length, pieces = {0}, 0, []
    for value in words.split("|"):
        for word in (*value.split(), "|"):
            pieces.append(word)
            length += len(word)
            edges.add(length)
    return "".join(pieces), edges


def read_result(
    value: Any,
    keys: tuple[str, ...],
    text: Text,
    pieces: list[str],
    beside: frozenset[str] = frozenset(),
) -> None:
    """Collect the keys, texts, numbers and records of a result."""
    if isinstance(value, Mapping):
        siblings, first = frozenset(normal(str(key)) for key in value), len(text.numbers)
        names = set(siblings)
        for key, entry in value.items():
            pieces.append(str(key))
            if isinstance(entry, str):
                names.add(normal(entry))
            read_result(entry, (*keys, str(key)), text, pieces, siblings)
        text.records.append((frozenset(names), text.numbers[first:]))
        return
    key, path = name_words(keys[-1]) if keys else frozenset[str](), name_words(" ".join(keys))
    if isinstance(value, list | tuple):
        text.numbers.append(Number(Quantity(float(len(value))), key, path, is_count=True))
        for entry in value:
            read_result(entry, keys, text, pieces)
    elif is_number(value):
        parts = NAME_PART.findall(keys[-1]) if keys else []
        unit = unit_of(parts[-1], short=len(parts) > 1) if parts else unit_of("")
        at = normal(keys[-1]) if keys else ""
        text.numbers.append(Number(Quantity(as_float(value), *unit), key, path, at=at, beside=beside))
        pieces.append(str(value))
    elif isinstance(value, str):
        pieces.append(value)
        text.numbers += numbers_of(value)


def numbers_of(text: str) -> Iterator[Number]:
    """Yield the numbers of a text, each with the word after it."""
    for quantity in quantities(text):
        noun = name_words(quantity.noun)
        yield Number(quantity, noun, noun)
