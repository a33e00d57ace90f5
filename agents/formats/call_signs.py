"""Tell what looks like a call in a text of which no call could be read."""

from __future__ import annotations

import re

from agents.formats.calls import CallText, Tools
from agents.formats.known_marks import known_marks
from agents.formats.registry import formats, without_no_calls

QUOTE = "[\"'“”]"
NAME_KEY = re.compile(
    rf"(?:{QUOTE}|[{{,]\s*)(?:name|tool|tool_name|function|function_name|action){QUOTE}?\s*:"
)
ARGUMENT_KEY = re.compile(
    rf"(?:{QUOTE}|[{{,]\s*)(?:arguments|parameters|args|params|kwargs|tool_input|action_input){QUOTE}?\s*:"
)
TAG = re.compile(r"(?i)<[|｜]?[\w:]*(?:(?:tool|function)[_▁ ]?(?:calls?|use)\b|invoke\b|action_start\b)")
"""A mark for calls of a family that no format knows."""
UNKNOWN_TOOL = re.compile(
    r"\A[^\w]*[A-Za-z_][\w.]*\((?:\s*\w+\s*=[^\n]*)?\)[^\w]*\Z"
    r"|\A\s*[A-Za-z_][\w.-]*\n\s*\{(?:.*\})?\s*\Z",
    re.DOTALL,
)
"""An answer that is a call and nothing else, of whatever tool."""


def looks_like_a_call(text: str, tools: Tools) -> bool:
    """Return whether an answer of which no call was read was probably meant as one.

    A tool's name in a sentence is none, but with a bracket, a label or a value behind it.
    """
    if shows_a_call(text, tools) or UNKNOWN_TOOL.search(text):
        return True
    name = _any_name(tools)
    return bool(name) and any(
        re.search(sign, text) is not None
        for sign in (
            rf"(?<![\w.]){name}`?\s*[({{（]",
            rf"[{{\[:,(]\s*{QUOTE}{name}{QUOTE}\s*[,:}}\])]",
            rf"<{name}[\s/>]",
            rf"(?<![\w.]){name}\W{{0,6}}(?:with|args|arguments|parameters|input)?\W{{0,6}}\{{",
            rf"(?m)^[^\w\n]{{0,20}}(?i:(?:tool|function|action|command)(?:[ _](?:name|call))?|name|call)"
            rf"[^\w\n]{{0,4}}[:=][^\w\n]{{0,6}}{name}\b",
            rf"(?m)^[^\w\n]{{0,20}}{name}[ \t]+(?:-{{1,2}}\w|\w+=)",
            rf"\A\W*{name}\W*\Z",
        )
    )


def shows_a_call(text: str, tools: Tools) -> bool:
    """Return whether a text holds a mark of calls, or a call by itself: more than the mention of a tool."""
    text = without_no_calls(known_marks().markup.sub("", text), tools)
    if not text.strip():
        return False
    if any(mark in text for form in formats() for mark in form.marks) or TAG.search(text):
        return True
    if NAME_KEY.search(text) and ARGUMENT_KEY.search(text):
        return True
    name = _any_name(tools)
    if name and re.search(rf"(?m)^[^\w\n]{{0,20}}{name}`?[ \t]*[({{（]", text):
        return True
    return any(isinstance(found.item, CallText) for form in formats() for found in form.read(text, tools))


def _any_name(tools: Tools) -> str:
    return f"(?:{'|'.join(map(re.escape, tools.names))})" if tools.names else ""
