"""The marks of all syntaxes around thoughts, words and turns, as patterns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from agents.formats.registry import formats

TAGS = (
    r"(?:(?:inner[_ ]?)?(?:think(?:ing)?(?::\w+)?|thoughts?|monologue|reasoning)|reflection|analysis|"
    r"scratch_?pad|deliberation)"
)
OPEN = rf"(?i:<[ ]?{TAGS}[ ]?>|◁{TAGS}▷|<\|begin_of_{TAGS}\|>)"
CLOSE = rf"(?i:<[ ]?/[ ]?{TAGS}[ ]?>|◁/{TAGS}▷|<\|end_of_{TAGS}\|>)"
"""Marks of thoughts that models of any family write."""
USUAL = ("<think>", "</think>")


@dataclass(frozen=True)
class KnownMarks:
    """What parts an answer.

    Attributes:
        open, close: marks around a thought.
        pairs: the closing mark by the opening one, where both are texts: a grammar of the whole answer knows
            them, and a thought can be ended by them.
        asides: whole messages that are thoughts.
        turns: where someone else's turn begins: what a model writes from there on is made up.
        parting: the marks of thoughts and turns.
        markup: marks around the words of an answer.
        between: what may stand around calls that are the whole answer.
    """

    open: re.Pattern[str]
    close: re.Pattern[str]
    pairs: dict[str, str]
    asides: tuple[re.Pattern[str], ...]
    turns: re.Pattern[str]
    parting: re.Pattern[str]
    markup: re.Pattern[str]
    between: re.Pattern[str]


@cache
def known_marks() -> KnownMarks:
    """Return the marks of all registered syntaxes."""
    pairs = dict([USUAL, *(pair for form in formats() for pair in form.thoughts)])
    ends = [re.escape(end) for form in formats() for end in form.ends]
    opened = (OPEN, *map(re.escape, pairs))
    closed = (CLOSE, *map(re.escape, pairs.values()))
    turns = [turn for form in formats() for turn in form.turns]
    return KnownMarks(
        open=_any(*opened),
        close=_any(*closed),
        pairs=pairs,
        asides=tuple(re.compile(aside, re.DOTALL) for form in formats() for aside in form.asides),
        turns=_any(*turns),
        parting=_any(*opened, *closed, *turns),
        markup=_any(*(mark for form in formats() for mark in form.markup)),
        between=_any(r"[\s,;]+", r"```(?:json|python)?", *ends),
    )


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(dict.fromkeys(patterns)))
