"""Find calls that are written as Python between two marks."""

from __future__ import annotations

import re
from collections.abc import Callable

from agents.formats.calls import Item, Nonsense
from agents.formats.format import Found, too_many


def find_python_blocks(
    text: str, opening: re.Pattern[str], close: str, read: Callable[[str], list[Item]]
) -> list[Found]:
    """Return the calls between the marks; `read` returns those of one block. A missing closing mark after
    whole calls is no fault.
    """
    found: list[Found] = []
    place = 0
    while (mark := opening.search(text, place)) is not None and not too_many(found, text):
        following = opening.search(text, mark.end())
        closed = text.find(close, mark.end())
        limit = min(len(text) if closed < 0 else closed, following.start() if following else len(text))
        place = limit + len(close) if limit == closed else limit
        words = text[mark.end() : limit].strip()
        items = read(words)
        if limit != closed and any(isinstance(item, Nonsense) for item in items):
            items = [Nonsense("unclosed", f"the call was not finished with {close}", words)]
        found += [Found(mark.start(), place, item) for item in items]
    return found
