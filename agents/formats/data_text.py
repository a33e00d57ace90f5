"""Keep text that is data from becoming control tokens.

What a rig, a person or a model says may hold a model's special tokens as plain text. A guard character is put
into each of them before a template is rendered; the tokenizer takes what stands before and after a guard
apart, so that no token goes across, and the guard itself is no text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

GUARD = "\ufdd0"
"""A character that Unicode keeps for uses within a program; in data it becomes U+FFFD."""


class DataText:
    """Guards the special tokens of one vocabulary."""

    def __init__(self, specials: Iterable[str] = ()) -> None:
        self._texts = frozenset(text for text in specials if len(text.strip()) > 1)
        self._sizes: dict[str, set[int]] = {}
        for text in self._texts:
            self._sizes.setdefault(text[0], set()).add(len(text))
        self._starts = re.compile("|".join(map(re.escape, self._sizes)) or r"(?!)")

    def guard(self, text: str) -> str:
        """Return the text with a guard in each special token, those within others included."""
        text = text.replace(GUARD, "\ufffd")
        parts, place = [], 0
        for match in self._starts.finditer(text):
            begin = match.start()
            if any(text[begin : begin + size] in self._texts for size in self._sizes[match.group()]):
                parts.append(text[place : begin + 1])
                place = begin + 1
        return GUARD.join([*parts, text[place:]])

    def guarded(self, value: Any) -> Any:
        """Return a JSON value with all its text guarded, keys too."""
        if isinstance(value, str):
            return self.guard(value)
        if isinstance(value, Mapping):
            return {self.guarded(key): self.guarded(entry) for key, entry in value.items()}
        if isinstance(value, list | tuple):
            return [self.guarded(entry) for entry in value]
        return value


def unguarded(text: str) -> str:
    """Return a rendered text as the model reads it."""
    return text.replace(GUARD, "")
