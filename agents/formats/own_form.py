"""Read the calls that an answer makes: those in the model's own syntax. All else is words about calls."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from agents.formats.calls import CallText, Nonsense, Tools
from agents.formats.every_form import all_calls, read_every_form, unwrapped, with_strays
from agents.formats.format import Format, Found
from agents.formats.known_marks import known_marks
from agents.formats.quotes import BLANK, is_quoted
from agents.formats.registry import PLAIN, formats

IF_MEANT = "so it was not made: write it alone and in your own form if you mean it"
QUOTED = f"this call stands in a quotation or within a sentence, {IF_MEANT}"
NOT_ALONE = f"a call without marks counts only as the whole answer, {IF_MEANT}"
OTHER_FORM = f"this looks like a tool call, but not one in your own form, {IF_MEANT}"
RUN = re.compile(rf"{BLANK}+(?:[\s,;]*{BLANK}+)*")
"""Calls with nothing between them."""


def read_own_form(text: str, tools: Tools, own: Format | None) -> list[Found]:
    """Return the calls that an answer makes, and what looks like one as nonsense.

    Args:
        text: an answer without its thoughts.
        tools: what was offered.
        own: the model's syntax. None where it is not known: then an answer that is nothing but calls of
            one family makes them.
    """
    if own is None:
        return _alone(text, tools, "unknown", "always") or _said(text, tools, PLAIN)
    found = own.read(text, tools)
    if found:
        blanked = _without(found, text)
        alone = not own.bare or _is_whole(blanked)
        runs = [run.span() for run in RUN.finditer(blanked)]
        strays = with_strays(found, text, tools, own)
        return [replace(each, item=_judged(each, text, blanked, own, alone, runs)) for each in strays]
    return _alone(text, tools, "always") or _said(text, tools, own)


def _judged(
    each: Found, text: str, blanked: str, own: Format, alone: bool, runs: list[tuple[int, int]]
) -> CallText | Nonsense:
    """Return what was found in the own syntax; nonsense where a call is only quoted."""
    if isinstance(each.item, Nonsense):
        return each.item
    call = text[each.start : each.end]
    if not alone and not call.strip().startswith(own.marks or BLANK):
        return Nonsense("unread_call", NOT_ALONE, call.strip())
    start, end = next((run for run in runs if run[0] <= each.start < run[1]), (each.start, each.end))
    if is_quoted(blanked, start, end, call) or not own.meant(blanked[:start], blanked[end:]):
        return Nonsense("quoted_call", QUOTED, call.strip())
    return each.item


def _alone(text: str, tools: Tools, *unasked: str) -> list[Found]:
    """Return the calls of the first of the syntaxes that count so in which they are the whole answer."""
    for form in (form for form in formats() if form.unasked in unasked):
        found = form.read(text, tools)
        if not found or isinstance(found[0].item, Nonsense):
            continue
        if form.bare and (found[0].start != found[-1].start or not all_calls(found)):
            continue
        rest = _without(found, text)
        if _is_whole(rest if form.bare else "".join(map(unwrapped, rest.split(BLANK)))):
            return found
    return []


def _said(text: str, tools: Tools, own: Format) -> list[Found]:
    """Return what looks like a call, in whatever syntax, as one piece of nonsense."""
    found = read_every_form(text, tools, own)
    if not found:
        return []
    first = found[0]
    item = first.item
    if isinstance(item, CallText):
        item = Nonsense("unread_call", OTHER_FORM, text[first.start :].strip())
    return [Found(first.start, len(text), item)]


def _without(found: Iterable[Found], text: str) -> str:
    """Return a text of the same length with blanks in place of what was found."""
    for each in found:
        end = each.start + len(text[each.start : each.end].rstrip())
        text = text[: each.start] + BLANK * (end - each.start) + text[end:]
    return text


def _is_whole(rest: str) -> bool:
    """Return whether what stands around calls says nothing."""
    return not known_marks().between.sub("", known_marks().markup.sub("", rest.replace(BLANK, "")))
