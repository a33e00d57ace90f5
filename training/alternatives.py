"""Texts with alternatives in brackets: "[go|drive] to {plant}[ now|]"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from random import Random

CHOICE = re.compile(r"\[([^\[\]]*)\]")


def drawn(rng: Random, text: str) -> str:
    """Return the text with one alternative of each bracket, the inner brackets first."""
    while found := CHOICE.search(text):
        text = text[: found.start()] + rng.choice(found[1].split("|")) + text[found.end() :]
    return text


def alternatives(text: str) -> Iterator[str]:
    """Yield the text with every combination of alternatives; brackets do not nest here."""
    parts = CHOICE.split(text)
    for combination in product(*(part.split("|") if k % 2 else (part,) for k, part in enumerate(parts))):
        yield "".join(combination)
