"""Read a model's answer: its thoughts, its words and its calls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from agents.formats.call_signs import looks_like_a_call, shows_a_call
from agents.formats.calls import CallText, Item, Nonsense, Tools, to_json
from agents.formats.every_form import read_every_form
from agents.formats.format import Format, Found
from agents.formats.known_marks import known_marks
from agents.formats.own_form import read_own_form
from agents.formats.registry import PLAIN, formats
from agents.formats.thoughts import Parted, part

IN_THOUGHTS = {
    "unclosed_thought": "the answer ended within a thought, so it makes no call: end the thought first",
    "call_in_thought": "the call stands within a thought, and nothing follows it: write it after the thought",
}
MADE_UP = "what follows the beginning of another's turn is not read: write the call in your own turn"
LONGEST = 100_000
"""Characters of an answer that is read; the longest that an episode's usual limit allows has a fifth."""
SIGN = "\ufdd1"
"""A character that Unicode keeps for uses within a program."""
REPLACED = re.compile(f"{SIGN}(\\d+){SIGN}")
MOST_MARKS = 64
"""Marks of an answer that are looked at."""
NO_TOOLS = Tools()


@dataclass(frozen=True, slots=True)
class ParsedText:
    """A model's answer.

    Attributes:
        thoughts: what it thought, without the marks.
        words: its words before the first call.
        items: its calls and unreadable attempts, in order.
        rest: all that follows its thoughts.
    """

    thoughts: str
    words: str
    items: tuple[Item, ...]
    rest: str


def parse_answer(
    text: str,
    tools: Tools = NO_TOOLS,
    own: Format | None = PLAIN,
    *,
    opened: bool = False,
    lenient: bool = False,
) -> ParsedText:
    """Parse an answer. Nothing is a call within its thoughts, or behind the beginning of another's turn.

    Marks of both in a call's arguments are text.

    What is in the model's own syntax is a call, and an answer that is a call without marks and nothing else.
    What looks like a call beside that is `Nonsense`: it was said, and not called.

    Args:
        text: the answer, marks and all.
        tools: what was offered.
        own: the syntax that was asked for; None where it is not known.
        opened: the prompt ended with the beginning of a thought.
        lenient: what is in any syntax, wherever it stands, is a call.
    """
    if len(text) > LONGEST:
        reason = f"the answer is longer than {LONGEST} characters, so it was not read"
        return ParsedText("", "", (Nonsense("too_long", reason, text[:LONGEST]),), "")
    text, marks = replace_argument_marks(text, tools)
    parted = part(text, opened=opened)
    others = known_marks().turns.search(parted.rest)
    made_up = parted.rest[others.start() :] if others else ""
    parted = replace(parted, rest=parted.rest.removesuffix(made_up))
    if lenient:
        found = read_every_form(parted.rest, tools, own or PLAIN)
    else:
        found = read_own_form(parted.rest, tools, own)
    if not found and shows_a_call(made_up, tools):
        end = len(parted.rest)
        found = [Found(end, end, Nonsense("unread_call", MADE_UP, made_up))]
    if not found and (code := _call_in_thoughts(parted, tools)) is not None:
        end = len(parted.rest)
        found = [Found(end, end, Nonsense(code, IN_THOUGHTS[code], text.strip()))]
    words = parted.rest[: found[0].start] if found else parted.rest
    items = tuple(each.item for each in found)
    if marks:
        items = tuple(_with_marks(item, marks) for item in items)
    thoughts, words, rest = (put_back(text, marks) for text in (parted.thoughts, words, parted.rest))
    return ParsedText(thoughts, known_marks().markup.sub("", words), items, rest)


def _with_marks(item: Item, marks: list[str]) -> Item:
    if isinstance(item, CallText):
        return CallText(item.name, put_back(item.arguments, marks))
    return replace(item, text=put_back(item.text, marks), reason=put_back(item.reason, marks))


def _call_in_thoughts(parted: Parted, tools: Tools) -> str | None:
    """Return what is wrong with an answer whose only call stands in its thoughts."""
    if not parted.closed:
        return "unclosed_thought" if looks_like_a_call(parted.thoughts, tools) else None
    alone = not parted.rest.strip() and shows_a_call(parted.thoughts, tools)
    return "call_in_thought" if alone else None


def replace_argument_marks(text: str, tools: Tools) -> tuple[str, list[str]]:
    """Return the text with a replacement for each mark in the arguments of a call, and all its marks.

    A plant may be called `x</think>`. Such marks are replaced before the answer is parted, and put back in
    what was read.
    """
    marks = [mark.group() for mark in known_marks().parting.finditer(text)]
    if not 0 < len(marks) <= MOST_MARKS or SIGN in text:
        return text, []
    replaced = _replaced(text, frozenset(range(len(marks))))
    # Some calls must begin the answer, which may be what follows a mark.
    starts = [0, *(found.end() for found in REPLACED.finditer(replaced))]
    held = {
        int(number)
        for start in starts
        for form in formats()
        for found in form.read(replaced[start:], tools)
        if isinstance(found.item, CallText)
        for number in REPLACED.findall(to_json(dict(found.item.arguments)))
    }
    return (_replaced(text, frozenset(held)), marks) if held else (text, [])


def put_back(value: Any, marks: list[str]) -> Any:
    """Return a value, as a text or arguments, with its marks."""
    if isinstance(value, str):
        return value if not marks else REPLACED.sub(lambda found: marks[int(found[1])], value)
    if isinstance(value, Mapping):
        return {put_back(key, marks): put_back(entry, marks) for key, entry in value.items()}
    return [put_back(entry, marks) for entry in value] if isinstance(value, list) else value


def _replaced(text: str, held: frozenset[int]) -> str:
    numbers = count()

    def one(mark: re.Match[str]) -> str:
        number = next(numbers)
        return f"{SIGN}{number}{SIGN}" if number in held else mark.group()

    return known_marks().parting.sub(one, text)
