"""Part a model's thoughts from its answer."""

from __future__ import annotations

from dataclasses import dataclass

from agents.formats.known_marks import known_marks


@dataclass(frozen=True, slots=True)
class Parted:
    """An answer in two.

    Attributes:
        thoughts: what makes no call.
        rest: what follows them.
        closed: whether the answer left its thoughts.
    """

    thoughts: str
    rest: str
    closed: bool


def opened_by(prompt: str) -> bool:
    """Return whether a prompt ends with the beginning of a thought."""
    return opening_mark(prompt) is not None


def opening_mark(prompt: str) -> str | None:
    """Return the mark with which a prompt opens a thought at its end; None where it opens none."""
    end = prompt.rstrip()
    last = next((mark for mark in known_marks().open.finditer(end) if mark.end() == len(end)), None)
    return None if last is None else last.group()


def part(text: str, *, opened: bool = False) -> Parted:
    """Return thoughts and answer: a thought ends at the last closing mark, also if the template opened it."""
    for aside in known_marks().asides:
        if thoughts := [match["words"] for match in aside.finditer(text)]:
            return Parted("\n".join(thoughts), aside.sub("", text), True)
    start = rest_start(text, opened=opened)
    if start is None:
        begin = known_marks().open.search(text)
        head = text[: begin.start()] if begin and not opened else ""
        return Parted(_bare(text[len(head) :]), head, False)
    return Parted(_bare(text[:start]), text[start:], True)


def rest_start(text: str, *, opened: bool) -> int | None:
    """Return where the answer after all thoughts begins; None while a thought goes on."""
    marks, start = known_marks(), 0
    for close in marks.close.finditer(text):
        start = close.end()
    if marks.open.search(text, start) or (opened and start == 0):
        return None
    return start


def _bare(thoughts: str) -> str:
    return known_marks().close.sub("", known_marks().open.sub("", thoughts)).strip()
