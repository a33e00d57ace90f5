"""What a syntax of tool calls is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agents.formats.calls import CallText, Item, Nonsense, Tools
from agents.formats.grammar import Rules


@dataclass(frozen=True, slots=True)
class Found:
    """A call, or an attempt, and where in the text it stands."""

    start: int
    end: int
    item: Item


MOST_CALLS = 64
"""Calls that are read in one answer; each beginning of one may cost a look at all that follows."""


def too_many(found: list[Found], text: str) -> bool:
    """Return whether no more calls are read; the list then ends with nonsense that says so."""
    if len(found) < MOST_CALLS:
        return False
    place = found[-1].end
    reason = f"an answer may have {MOST_CALLS} calls at most"
    found.append(Found(place, len(text), Nonsense("too_many", reason, text[place:].strip())))
    return True


Functions = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Format:
    """One syntax in which models write calls. A package registers it under the entry-point group
    `pathrig.formats`, by its name.

    Attributes:
        name: what the log and the documentation call it.
        families: models that were trained on it.
        documented: where its form is described.
        detected_by: texts in a chat template that tell of it; one of them is enough. The format of a
            template that prints calls itself is what it prints.
        marks: texts that occur in calls alone. What has one of them looks like a call.
        read: finds the calls in an answer without its thoughts, in order.
        write: returns calls as the model writes them.
        grammar: adds rules for a run of calls, from its mark on, and returns an expression.
        bare: the first character of a call, where it has no mark and begins the answer.
        meant: tells by the texts before and behind a call whether it is made, and not quoted, as far as that
            is this syntax's own matter.
        begins: a pattern of what stands before the tool's name, where it is not only what `write` puts there.
        opens: texts that only a call may begin with, under a grammar of the whole answer; `marks` where none
            are given.
        rank: formats of lower rank are asked first. One whose marks others have too has a higher one.
        unasked: whose answer makes calls that is nothing but calls in this syntax, although it was not asked
            for: that of every model, of a model whose own syntax is unknown, or of none.
        no_call: replaces by spaces what looks like a call in this syntax and is none, as `Action: None`.
        thoughts: pairs of marks around the thoughts of its families, besides the usual ones.
        asides: patterns of whole messages that are thoughts; the group `words` is what they say.
        turns: patterns of what begins another's turn.
        markup: patterns of marks around the words of an answer.
        ends: texts that may stand at the end of an answer.
    """

    name: str
    families: str
    documented: str
    detected_by: tuple[str, ...]
    marks: tuple[str, ...]
    read: Callable[[str, Tools], list[Found]]
    write: Callable[[Sequence[CallText]], str]
    grammar: Callable[[Rules, Functions], str]
    bare: str = ""
    meant: Callable[[str, str], bool] = lambda _before, _after: True
    begins: str = ""
    opens: tuple[str, ...] = ()
    rank: int = 0
    unasked: Literal["always", "unknown", "never"] = "unknown"
    no_call: Callable[[str, Tools], str] | None = None
    thoughts: tuple[tuple[str, str], ...] = ()
    asides: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    markup: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()

    def detects(self, template: str) -> bool:
        """Return whether a chat template tells of this syntax."""
        return any(text in template for text in self.detected_by)

    @property
    def head(self) -> str:
        """A pattern of what stands before the tool's name, where a call begins."""
        return self.begins or r"\s*".join(map(re.escape, self._written_head.split()))

    def beginning(self, names: Sequence[str]) -> re.Pattern[str]:
        """Return a pattern of what only a call of one of the tools begins with; the call is group `call`.

        A mark with more behind it is one. A mark alone is one where something follows it, which must go on as
        a call. Where there is no mark, the whole name of a tool must stand in its place.
        """
        marks = "|".join(map(re.escape, self.marks))
        if self.bare or not self.marks:
            begin = rf"{self.head}\s*(?:{'|'.join(map(re.escape, names))})(?=[^\w.-])"
        elif self.begins or self._written_head.strip() in self.marks:
            begin = rf"{self.head}\s*(?=\S)"
        else:
            begin = self.head
        return re.compile(rf"\A\s*(?P<call>(?:{marks})?\s*{begin})" if self.bare else f"(?P<call>{begin})")

    @property
    def _written_head(self) -> str:
        return self.write([CallText("NAME", {})]).partition("NAME")[0]
