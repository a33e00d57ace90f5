"""Part a model's thoughts from its answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

TAGS = (
    r"(?:(?:inner[_ ]?)?(?:think(?:ing)?(?::\w+)?|thoughts?|monologue|reasoning)|reflection|analysis|"
    r"scratch_?pad|deliberation)"
)
OPEN = re.compile(
    rf"(?i:<[ ]?{TAGS}[ ]?>|◁{TAGS}▷|<\|begin_of_{TAGS}\|>)"
    r"|\[THINK\]|<\|START_THINKING\|>|<\|channel>thought|<seed:think>"
    r"|<mm:think>|<\|inner_prefix\|>|<\|open\|>think<\|sep\|>|Here are my reasoning steps:"
)
CLOSE = re.compile(
    rf"(?i:<[ ]?/[ ]?{TAGS}[ ]?>|◁/{TAGS}▷|<\|end_of_{TAGS}\|>)"
    r"|\[/THINK\]|<\|END_THINKING\|>|<channel\|>|</seed:think>"
    r"|</mm:think>|<\|inner_suffix\|>|<\|close\|>think<\|sep\|>|\[BEGIN FINAL RESPONSE\]"
)
PAIRS = {
    "<think>": "</think>",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "[THINK]": "[/THINK]",
    "<|channel>thought": "<channel|>",
    "Here are my reasoning steps:": "[BEGIN FINAL RESPONSE]",
}
"""The usual marks: a grammar of the whole answer knows them, and a thought can be ended by them."""
OPENED = re.compile(rf"(?:{OPEN.pattern})\s*\Z")
ANALYSIS = re.compile(
    r"(?:<\|start\|>assistant)?<\|channel\|>analysis(?P<to>[^<]*)<\|message\|>(?P<words>.*?)(?:<\|end\|>|\Z)",
    re.DOTALL,
)
"""A thought in the harmony format: a message on a channel of its own."""
OTHERS = re.compile(
    r"<\|im_start\|>\s*(?:user|system|tool)|<\|start_header_id\|>(?:user|system|ipython|tool)|<start_of_turn>user"
    r"|<\|start\|>(?:user|system|functions)|<\|(?:user|system|observation)\|>|\[INST\]|\[TOOL_RESULTS\]|<[|]?tool_re(?:sponse|sult)s?[|]?>"
    r"|<\|START_TOOL_RESULT\|>|<start_function_response>|<｜tool▁outputs?▁begin｜>|<｜User｜>"
)
"""Where someone else's turn begins: what a model writes from there on is made up."""
MARKUP = re.compile(
    r"<\|START_RESPONSE\|>|<\|END_RESPONSE\|>|<\|START_TEXT\|>|<\|END_TEXT\|>|</?response>|<\|python_tag\|>"
    r"|(?:<\|start\|>assistant)?<\|channel\|>\w+\s*<\|message\|>|<\|end\|>|<\|content\|>"
    r"|<\|open\|>response<\|sep\|>|<\|close\|>response<\|sep\|>"
)
"""Marks around the words of an answer."""


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
    return OPENED.search(prompt) is not None


def opening_mark(prompt: str) -> str | None:
    """Return the mark with which a prompt opens a thought at its end; None where it opens none."""
    found = OPENED.search(prompt)
    return None if found is None else found.group().strip()


def part(text: str, *, opened: bool = False) -> Parted:
    """Return thoughts and answer: a thought ends at the last closing mark, also if the template opened it."""
    analyses = [match for match in ANALYSIS.finditer(text) if "to=" not in match["to"]]
    if analyses:
        rest = ANALYSIS.sub(lambda match: match.group() if "to=" in match["to"] else "", text)
        return Parted("\n".join(match["words"] for match in analyses), rest, True)
    start = rest_start(text, opened=opened)
    if start is None:
        begin = OPEN.search(text)
        head = text[: begin.start()] if begin and not opened else ""
        return Parted(_bare(text[len(head) :]), head, False)
    return Parted(_bare(text[:start]), text[start:], True)


def rest_start(text: str, *, opened: bool) -> int | None:
    """Return where the answer after all thoughts begins; None while a thought goes on."""
    start = 0
    for close in CLOSE.finditer(text):
        start = close.end()
    if OPEN.search(text, start) or (opened and start == 0):
        return None
    return start


def _bare(thoughts: str) -> str:
    return CLOSE.sub("", OPEN.sub("", thoughts)).strip()
