"""Read a model's answer: its thoughts, its words and its calls."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from agents.formats.argument_marks import put_back, replace_argument_marks
from agents.formats.call_signs import looks_like_a_call, shows_a_call
from agents.formats.calls import CallText, Item, Nonsense, Tools
from agents.formats.format import Format, Found
from agents.formats.react import without_no_action
from agents.formats.registry import FORMATS, PLAIN
from agents.formats.thoughts import MARKUP, OTHERS, Parted, part

BESIDE = "this looks like one more tool call and cannot be read as one: write all calls in one form"
IN_THOUGHTS = {
    "unclosed_thought": "the answer ended within a thought, so it makes no call: end the thought first",
    "call_in_thought": "the call stands within a thought, and nothing follows it: write it after the thought",
}
OPENING = re.compile(r"<[^<>/\s]{1,40}>\s{0,9}\Z")
CLOSING = re.compile(r"\s{0,9}<(?:/[^<>\s]{1,40}|[^<>\s]{1,40}(?:end|END)[^<>\s]{0,20})>")
"""Marks around a run of calls, as many families have."""
MADE_UP = "what follows the beginning of another's turn is not read: write the call in your own turn"
LONGEST = 100_000
"""Characters of an answer that is read; the longest that an episode's usual limit allows has a fifth."""
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
    text: str, tools: Tools = NO_TOOLS, own: Format = PLAIN, *, opened: bool = False
) -> ParsedText:
    """Parse an answer. Nothing is a call within its thoughts, or behind the beginning of another's turn.

    Marks of both in a call's arguments are text.

    A call counts in whatever syntax it stands: models write the one that they were trained on, whatever the
    prompt asks for. What looks like a call and is none in any syntax is `Nonsense`.

    Args:
        text: the answer, marks and all.
        tools: what was offered.
        own: the syntax that was asked for; it is tried first, and its faults are those that are told.
        opened: the prompt ended with the beginning of a thought.
    """
    if len(text) > LONGEST:
        reason = f"the answer is longer than {LONGEST} characters, so it was not read"
        return ParsedText("", "", (Nonsense("too_long", reason, text[:LONGEST]),), "")
    text, marks = replace_argument_marks(text, tools)
    parted = part(text, opened=opened)
    others = OTHERS.search(parted.rest)
    made_up = parted.rest[others.start() :] if others else ""
    parted = replace(parted, rest=parted.rest.removesuffix(made_up))
    found = _read(parted.rest, tools, own)
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
    return ParsedText(thoughts, MARKUP.sub("", words), items, rest)


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


def _read(text: str, tools: Tools, own: Format) -> list[Found]:
    """Return the calls of the first format that reads all that looks like one; else of the first that reads
    some, with the rest as what it is.
    """
    first = _beside(own.read(text, tools), text, tools, own)
    if first and _all_calls(first):
        return first
    others = ((form, form.read(text, tools)) for form in FORMATS if form is not own)
    read = [(form, found) for form, found in others if found]
    marked = [(form, found) for form, found in read if not form.bare]
    # JSON within marks that are not right is no call without marks.
    plain = not marked and (own.bare or not first)
    bare = [(form, found) for form, found in read if form.bare and plain]
    more = [_beside(found, text, tools, form) for form, found in (*marked, *bare)]
    for found in more:
        if _all_calls(found):
            return found
    for found in more if own.bare and marked else (first, *more):
        if found:
            return found
    return [Found(0, len(text), _unread(text))] if looks_like_a_call(text, tools) else []


def _all_calls(found: list[Found]) -> bool:
    return all(isinstance(each.item, CallText) for each in found)


def _beside(found: list[Found], text: str, tools: Tools, form: Format) -> list[Found]:
    """Return the calls, and what looks like further ones outside of them, in order."""
    if not found or isinstance(found[0].item, Nonsense):
        return found
    strays: list[Found] = []
    place = 0
    for start, end in (*((each.start, each.end) for each in found), (len(text), len(text))):
        piece = without_no_action(_unwrapped(text[place : max(place, start)]), tools)
        mark = next((mark for mark in form.marks if mark in piece), None)
        if mark is not None:
            stray = Nonsense("stray_mark", f"{mark} stands outside of a call", piece.strip())
            strays.append(Found(place, start, stray))
        elif shows_a_call(piece, tools):
            strays.append(Found(place, start, Nonsense("unread_call", BESIDE, piece.strip())))
        place = max(place, end)
    return sorted((*found, *strays), key=lambda each: each.start) if strays else found


def _unwrapped(piece: str) -> str:
    """Return what stands before, between or after calls, without marks around a run of them."""
    while (mark := CLOSING.match(piece) or OPENING.search(piece)) is not None:
        piece = piece[: mark.start()] + piece[mark.end() :]
    return piece


def _unread(text: str) -> Nonsense:
    reason = "this looks like a tool call and cannot be read as one: write it in the form that was asked for"
    return Nonsense("unread_call", reason, text.strip())
