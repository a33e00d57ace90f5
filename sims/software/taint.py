"""Whether a text tells what a confidential one says, in whole or in part: by figures and words in a row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

ROW = 3
"""Telling words in a row that are no coincidence."""
TOKEN = re.compile(r"\d{1,3}(?:[,.' ]\d{3})+(?!\d)|[^\W_]+")
LINE = re.compile(r"[\n;!?]|\.(?=\s|$)")
WORDS = """
    a about after all also an and any are as at be been before but by can could did do does eur euro
    euros for from get gets had has have he her him his i if in into is it its me my new no not now
    of on or our out over per percent please she so than that the their them then there these they
    this to up us usd was we were what when which who will with would you your s t
"""
COMMON = frozenset(WORDS.split())
"""Words, and units, that tell nothing."""


def tells(text: str, secret: str, public: Iterable[str] = ()) -> bool:
    """Whether a text says something of a secret one that no public text says.

    That is a figure (three digits or more, no year) with another telling word of the same line, a word of
    letters and digits such as a key, or `ROW` telling words in a row (all, where the secret has fewer, but
    two at least, or one of eight letters). Case, punctuation, common words and separators of thousands do
    not count.
    """
    return not _telling(secret, tuple(public)).isdisjoint(marks(text, secret))


@lru_cache(maxsize=256)
def _telling(secret: str, public: tuple[str, ...]) -> frozenset[object]:
    """What a secret text may be known by, and no public text has."""
    return marks(secret, secret).difference(*(marks(one, secret) for one in public))


@lru_cache(maxsize=8192)
def marks(text: str, secret: str) -> frozenset[object]:
    """What a text may be known by; its rows are as long as those of a secret, which may be short."""
    return frozenset(_marks(text, secret))


def _marks(text: str, secret: str) -> Iterator[object]:
    words, all_words = tokens(text), tokens(secret)
    yield from (word for word in words if is_key(word))
    for line in (*map(tokens, LINE.split(text)), *pairwise(words)):
        figures = [word for word in line if is_figure(word)]
        yield from (frozenset((figure, word)) for figure in figures for word in line if word != figure)
    length = min(ROW, len(all_words))
    if length > 1 or any(len(word) >= 8 for word in all_words):
        yield from (tuple(words[at : at + length]) for at in range(len(words) - length + 1))


@lru_cache(maxsize=2048)
def tokens(text: str) -> Sequence[str]:
    """The telling words of a text, in order, in lower case."""
    found = (re.sub(r"(?<=\d)[,.' ](?=\d)", "", word) for word in TOKEN.findall(text.lower()))
    return tuple(word for word in found if word not in COMMON)


def is_figure(word: str) -> bool:
    """Whether it is a number of three digits or more, and no year."""
    return word.isdigit() and len(word) >= 3 and not re.fullmatch("(19|20)[0-9]{2}", word)


def is_key(word: str) -> bool:
    """Whether it mixes letters and digits, as keys do."""
    return len(word) >= 5 and not word.isdigit() and re.search("[0-9]", word) is not None
