"""Texts with alternatives in brackets: "[go|drive] to {plant}[ now|]"."""

from __future__ import annotations

import re
from random import Random

CHOICE = re.compile(r"\[([^\[\]]*)\]")


def drawn(rng: Random, text: str) -> str:
    """Return the text with one alternative of each bracket."""
    return CHOICE.sub(lambda found: rng.choice(found[1].split("|")), text)
