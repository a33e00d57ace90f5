"""Read an answer in every syntax: what looks like a call, and how it would be read."""

from __future__ import annotations

import re

from agents.formats.call_signs import looks_like_a_call, shows_a_call
from agents.formats.calls import CallText, Nonsense, Tools
from agents.formats.format import Format, Found
from agents.formats.registry import formats, without_no_calls

BESIDE = "this looks like one more tool call and cannot be read as one: write all calls in one form"
OPENING = re.compile(r"<[^<>/\s]{1,40}>\s{0,9}\Z")
CLOSING = re.compile(r"\s{0,9}<(?:/[^<>\s]{1,40}|[^<>\s]{1,40}(?:end|END)[^<>\s]{0,20})>")
"""Marks around a run of calls, as many families have."""


def read_every_form(text: str, tools: Tools, own: Format) -> list[Found]:
    """Return the calls of the first format that reads all that looks like one; else of the first that reads
    some, with the rest as what it is.

    Args:
        text: an answer without its thoughts.
        tools: what was offered.
        own: the format that is tried first.
    """
    first = with_strays(own.read(text, tools), text, tools, own)
    if first and all_calls(first):
        return first
    others = ((form, form.read(text, tools)) for form in formats() if form is not own)
    read = [(form, found) for form, found in others if found]
    marked = [(form, found) for form, found in read if not form.bare]
    # JSON within marks that are not right is no call without marks.
    plain = not marked and (own.bare or not first)
    bare = [(form, found) for form, found in read if form.bare and plain]
    more = [with_strays(found, text, tools, form) for form, found in (*marked, *bare)]
    for found in more:
        if all_calls(found):
            return found
    for found in more if own.bare and marked else (first, *more):
        if found:
            return found
    return [Found(0, len(text), _unread(text))] if looks_like_a_call(text, tools) else []


def all_calls(found: list[Found]) -> bool:
    """Return whether nothing in the list is nonsense."""
    return all(isinstance(each.item, CallText) for each in found)


def with_strays(found: list[Found], text: str, tools: Tools, form: Format) -> list[Found]:
    """Return the calls, and what looks like further ones outside of them, in order."""
    if not found or isinstance(found[0].item, Nonsense):
        return found
    strays: list[Found] = []
    place = 0
    for start, end in (*((each.start, each.end) for each in found), (len(text), len(text))):
        piece = without_no_calls(unwrapped(text[place : max(place, start)]), tools)
        mark = next((mark for mark in form.marks if mark in piece), None)
        if mark is not None:
            stray = Nonsense("stray_mark", f"{mark} stands outside of a call", piece.strip())
            strays.append(Found(place, start, stray))
        elif shows_a_call(piece, tools):
            strays.append(Found(place, start, Nonsense("unread_call", BESIDE, piece.strip())))
        place = max(place, end)
    return sorted((*found, *strays), key=lambda each: each.start) if strays else found


def unwrapped(piece: str) -> str:
    """Return what stands before, between or after calls, without marks around a run of them."""
    while (mark := CLOSING.match(piece) or OPENING.search(piece)) is not None:
        piece = piece[: mark.start()] + piece[mark.end() :]
    return piece


def _unread(text: str) -> Nonsense:
    reason = "this looks like a tool call and cannot be read as one: write it in the form that was asked for"
    return Nonsense("unread_call", reason, text.strip())
