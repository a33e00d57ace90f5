"""Tell whether a call in an answer is quoted: it is talked about, and not made.

Only how it stands in the text counts, never what the words say, so that it is the same in all languages.
"""

from __future__ import annotations

import re
from functools import lru_cache

BLANK = "\0"
"""Stands for the characters of other calls."""
COMMENTS = (("<!--", "-->"), ("/*", "*/"))
FENCE = re.compile(r"(?m)^[ \t>]*(?:`{3,}|~{3,}|\"{3}|'{3})")
QUOTES = frozenset(
    ('""', "''", "“”", "„“", "„”", "‘’", "‚‘", "«»", "»«", "‹›", "「」", "『』", "《》", "()", "（）")
)
QUOTED_LINE = re.compile(r"[ \t]*(?:>(?!>>)|//)")
MARK = re.compile(
    r"(?:<[|｜]?|[\[【◁⟨《])(?P<close>/?)(?P<name>[^\W\d][\w:.▁-]{0,40})(?:\s[^<>\[\]\n]{0,100})?"
    r"(?:[|｜]?>|[\]】▷⟩》])"
)
"""A mark around a part of an answer, in whatever brackets a family writes them."""
BEGIN_OR_END = re.compile(r"(?:^|(?<=[_▁-]))(?:begin|start|open|end|close|stop|of)(?:$|[_▁-])")
ENDS = re.compile(r"(?:^|[_▁-])(?:end|close|stop)(?:$|[_▁-])")
AROUND_CALLS = re.compile(
    r"tool|function|call|action|invoke|plugin|response|answer|output|final|assistant|text|turn|message|\Aim\Z"
)
"""Names of marks within which a family makes calls."""
THOUGHT = re.compile(r"think|thought|reason|monolog|scratch|reflect|deliberat|ponder|analysis")
"""Names of marks within which no call is made, whether they are closed or not."""
FULL_STOPS = (".", "!", "。", "！", "…", "।")
ENDS_OF_LINES = (*FULL_STOPS, ":", "：", "?", "？")
ANY_MARK = re.compile(r"<[^<>\n]*>")


def is_quoted(text: str, start: int, end: int, call: str) -> bool:
    """Return whether calls between two places are a quotation, by the text around them.

    It is one in a comment, in a code block or code span, within quotation marks or brackets, struck out, in
    a block quote, in marks of thoughts or of parts of an answer that no call belongs to, and in a sentence
    that goes on behind it.
    """
    before, after = text[:start], text[end:]
    line, rest = before.rpartition("\n")[2], after.partition("\n")[0]
    return (
        any(before.rfind(opened) > before.rfind(closed) for opened, closed in COMMENTS)
        or _in_a_code_block(before, after)
        or _between(line.replace("```", ""), rest.replace("```", ""), "`")
        or _between(FENCE.sub("", before), after, "~~")
        or before.rstrip(" \t")[-1:] + after.lstrip(" \t")[:1] in QUOTES
        or QUOTED_LINE.match(line + call) is not None
        or _in_marks(text, start, end)
        or _within_a_sentence(before, after)
    )


def _in_a_code_block(before: str, after: str) -> bool:
    """Return whether a code block is open that is not the whole answer."""
    fences = list(FENCE.finditer(before))
    if len(fences) % 2 == 0:
        return False
    return bool(before[: fences[-1].start()].strip()) or bool(re.sub(r"\s*`{3,}|\s*~{3,}", "", after).strip())


def _between(before: str, after: str, sign: str) -> bool:
    return before.count(sign) % 2 == 1 and sign in after


def _within_a_sentence(before: str, after: str) -> bool:
    """Return whether a sentence goes on behind the call. What stands right at a word, or behind a full stop,
    is no part of it.
    """
    line, rest = before.rpartition("\n")[2], after.partition("\n")[0]
    own_line = not line.strip() and not rest.strip()
    if own_line:
        line, rest = (
            before.rstrip(" \t")[:-1].rpartition("\n")[2],
            after.partition("\n")[2].partition("\n")[0],
        )
    if not _has_words(line) or not _has_words(rest):
        return False
    goes_on = rest.lstrip()[0] in ",;:)，；、" or rest.lstrip()[0].islower()
    if own_line:
        return goes_on and not line.rstrip().endswith(ENDS_OF_LINES)
    if not goes_on and line.rstrip().endswith(FULL_STOPS):
        return False
    last = line[-1:]
    return not last.isascii() or not (last.isalnum() or last in FULL_STOPS)


def _has_words(line: str) -> bool:
    return re.search(r"\w", ANY_MARK.sub(" ", line)) is not None


def _in_marks(text: str, start: int, end: int) -> bool:
    opened: dict[str, int] = {}
    closed: set[str] = set()
    for place, name, closes in _marks(text):
        if place >= end and closes:
            closed.add(name)
        elif place < start and not closes:
            opened.setdefault(name, place)
        elif place < start:
            opened.pop(name, None)
    return any(
        # A heading may stand in square brackets.
        (name in closed and not AROUND_CALLS.search(name)) or (text[place] in "<◁⟨" and THOUGHT.search(name))
        for name, place in opened.items()
        if name
    )


@lru_cache(maxsize=1)
def _marks(text: str) -> list[tuple[int, str, bool]]:
    """Return each mark: where it stands, what it is of, and whether it is the closing one."""
    return [(mark.start(), *_name(mark)) for mark in MARK.finditer(text)]


def _name(mark: re.Match[str]) -> tuple[str, bool]:
    name = mark["name"].lower()
    return BEGIN_OR_END.sub("", name).strip("_▁-"), bool(mark["close"]) or ENDS.search(name) is not None
