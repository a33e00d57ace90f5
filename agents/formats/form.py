"""What a family of syntaxes shares: calls that are written one after the other, between marks."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from agents.formats.calls import CallText, Item, Tools
from agents.formats.format import Format, Found, Functions, too_many
from agents.formats.grammar import Rules, literal


class CallForm(ABC):
    """How a syntax writes its calls.

    Attributes:
        first, last: what is written around a run of calls.
        separator: what is written between them.
    """

    first: str = ""
    last: str = ""
    separator: str = ""

    @property
    def marks(self) -> tuple[str, ...]:
        """The `marks` of its format, where that gives no others."""
        return ()

    @abstractmethod
    def call(self, call: CallText) -> str:
        """Return a call as it is written."""

    @abstractmethod
    def rule(self, rules: Rules, name: str, schema: Mapping[str, Any], rule: str) -> str:
        """Return the grammar of a call of one tool; `rule` names the rules of its arguments."""

    @abstractmethod
    def find(self, text: str, tools: Tools) -> list[Found]:
        """Return the calls in an answer."""

    def text(self, calls: Sequence[CallText]) -> str:
        """Return calls as they are written."""
        return f"{self.first}{self.separator.join(map(self.call, calls))}{self.last}"

    def rules(self, rules: Rules, functions: Functions) -> str:
        """Return the grammar of one run of calls."""
        call = rules.choice("call-body", functions, partial(self.rule, rules))
        more = f"( {spaced(self.separator)} {call} )*" if self.first or self.last else ""
        return rules.add("call", f"{literal(self.first)} {call} {more} {literal(self.last)}")


def format_of(name: str, form: CallForm, **facts: Any) -> Format:
    """Return the format of a form; `facts` are the attributes that the form does not give."""
    own = {"read": form.find, "write": form.text, "grammar": form.rules}
    return Format(name=name, **{**own, "marks": form.marks, "detected_by": form.marks[:1], **facts})


def spaced(text: str) -> str:
    """Return a literal in which the space after colon and comma may be left out."""
    return ' " "? '.join(literal(part) for part in re.split(r"(?<=[:,]) ", text))


def around(written: str, *holes: str) -> list[str]:
    """Return what is written before, between and after the `{holes}`."""
    return re.split("|".join(rf"\{{{hole}\}}" for hole in holes), written)


def find_each(
    text: str, opening: re.Pattern[str], read: Callable[[re.Match[str]], tuple[Iterable[Item], int]]
) -> list[Found]:
    """Return the calls behind each opening mark; `read` returns those of one, and where they end."""
    found: list[Found] = []
    place = 0
    while (mark := opening.search(text, place)) is not None and not too_many(found, text):
        items, place = read(mark)
        found += [Found(mark.start(), place, item) for item in items]
    return found


def next_start(text: str, opening: re.Pattern[str], mark: re.Match[str]) -> int:
    """Return where the next opening mark behind one begins; else the text's end."""
    following = opening.search(text, mark.end())
    return following.start() if following else len(text)
