"""Facts that a read's answer may hold, whichever tool gave it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from core_eval.path.patterns import Pattern, parse_pattern
from core_eval.text.values import same_value

LACKS = "lacks"


@dataclass(frozen=True)
class Fact:
    """What an answer must hold, as a plan writes it.

    A plain value stands somewhere in the answer: as a value, a key, or a part of a text. A mapping of keys to
    patterns fits one object of the answer. `{lacks: VALUE}` is the fact that the value stands nowhere in it.
    A list is the facts that must all hold.

    Raises:
        ValueError: by `parse`, with a sentence that names the fault.
    """

    written: Any

    @classmethod
    def parse(cls, written: Any) -> Fact:
        """Read a fact from a plan."""
        if written is None or written in ({}, [], ""):
            raise ValueError("a fact is a value, {key: pattern}, {lacks: value} or a list of these")
        fact = cls(written)
        _ = fact._parts
        return fact

    @cached_property
    def _parts(self) -> tuple[Mapping[str, Pattern] | Any, ...]:
        written = self.written if isinstance(self.written, list | tuple) else [self.written]
        return tuple(
            {str(key): parse_pattern(value) for key, value in part.items()}
            if isinstance(part, Mapping) and set(part) != {LACKS}
            else part
            for part in written
        )

    def holds(self, answer: Any) -> bool:
        """Return whether an answer, JSON-ready, holds it."""
        return all(_holds(part, answer) for part in self._parts)

    def __str__(self) -> str:
        return str(self.written)


def _holds(part: Any, answer: Any) -> bool:
    if not isinstance(part, Mapping):
        return any(_tells(told, part) for told in _everything(answer))
    if set(part) == {LACKS}:
        return not any(_tells(told, part[LACKS]) for told in _everything(answer))
    return any(
        all(key in told and pattern.holds(told[key]) for key, pattern in part.items())
        for told in _everything(answer)
        if isinstance(told, Mapping)
    )


def _tells(told: Any, wanted: Any) -> bool:
    if isinstance(told, Mapping | list | tuple):
        return False
    if isinstance(told, str) and isinstance(wanted, str):
        return wanted.casefold() in told.casefold()
    return same_value(told, wanted)


def _everything(answer: Any) -> Iterator[Any]:
    """Yield the answer and all that stands in it: objects, keys, and values."""
    todo = [answer]
    while todo:
        told = todo.pop()
        yield told
        if isinstance(told, Mapping):
            yield from told.keys()
            todo += told.values()
        elif isinstance(told, list | tuple):
            todo += told
