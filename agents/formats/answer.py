"""Read a model's answer: its thoughts, its words and its calls."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agents.formats.calls import CallText, Item, Nonsense, Tools
from agents.formats.format import Format, Found
from agents.formats.registry import FORMATS, PLAIN
from agents.formats.thoughts import MARKUP, part

NAME = re.compile(r"""["'](?:name|tool_name)["']\s*:""")
ARGUMENTS = re.compile(r"""["'](?:arguments|parameters)["']\s*:""")
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
    """

    thoughts: str
    words: str
    items: tuple[Item, ...]


def parse_answer(
    text: str, tools: Tools = NO_TOOLS, own: Format = PLAIN, *, opened: bool = False
) -> ParsedText:
    """Parse an answer. Nothing within its thoughts is a call.

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
        return ParsedText("", "", (Nonsense("too_long", reason, text[:LONGEST]),))
    parted = part(text, opened=opened)
    found = _read(parted.rest, tools, own)
    if not parted.closed and not found and _looks_like_a_call(parted.thoughts, tools):
        reason = "the answer ended within a thought, so it makes no call: end the thought first"
        found = [
            Found(len(parted.rest), len(parted.rest), Nonsense("unclosed_thought", reason, text.strip()))
        ]
    words = parted.rest[: found[0].start] if found else parted.rest
    return ParsedText(parted.thoughts, MARKUP.sub("", words), tuple(each.item for each in found))


def _read(text: str, tools: Tools, own: Format) -> list[Found]:
    first = _faults_too(own.read(text, tools), text, own)
    if first and _all_calls(first):
        return first
    others = [(each, each.read(text, tools)) for each in FORMATS if each is not own]
    marked = [found for form, found in others if found and not form.bare]
    # JSON within marks that are not right is no call without marks.
    bare = [found for form, found in others if found and form.bare and not (first or marked)]
    for found in (*marked, *bare):
        if _all_calls(found):
            return found
    for found in ([] if own.bare and marked else first, *marked, *bare):
        if found:
            return found
    return [Found(0, len(text), _unread(text))] if _looks_like_a_call(text, tools) else []


def _all_calls(found: list[Found]) -> bool:
    return all(isinstance(each.item, CallText) for each in found)


def _faults_too(found: list[Found], text: str, own: Format) -> list[Found]:
    """Return the calls, and marks outside of them as what they are."""
    rest, place = [], 0
    for each in found:
        rest.append(text[place : max(place, each.start)])
        place = max(place, each.end)
    rest.append(text[place:])
    marks = [mark for form in FORMATS for mark in form.marks] if own.bare else own.marks
    stray = next((mark for mark in marks if any(mark in piece for piece in rest)), None)
    if found and stray is not None:
        reason = f"{stray} stands outside of a call"
        found = [*found, Found(place, len(text), Nonsense("stray_mark", reason, stray))]
    return found


def _unread(text: str) -> Nonsense:
    reason = "this looks like a tool call and cannot be read as one: write it in the form that was asked for"
    return Nonsense("unread_call", reason, text.strip())


def _looks_like_a_call(text: str, tools: Tools) -> bool:
    if any(mark in text for each in FORMATS for mark in each.marks):
        return True
    if NAME.search(text) and ARGUMENTS.search(text):
        return True
    names = "|".join(re.escape(name) for name in tools.names)
    return bool(names) and re.search(rf"(?<![\w.])(?:{names})`?\s*[({{]", text) is not None
