"""Patterns of calls, as rules write them, and the calls that they are held against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from agents.agent import Cost
from agents.formats.answer import parse_answer
from agents.formats.calls import Tools
from core_eval.path.calls import Call
from core_eval.path.patterns import Pattern, parse_pattern
from core_eval.path.symbols import Symbol
from core_eval.rules.grounds import Told

ANY_TOOL = "*"
_FORMS = "a tool's name, {tool: {argument: pattern}}, '*' for any call, or a list of these, of which one fits"


@dataclass(frozen=True, slots=True)
class Made:
    """A call, and the answer of the model that it is of.

    Attributes:
        place: its place among the calls of that answer, from 0.
        words: what the answer says beside its calls.
        told: what the agent was told before it; None where no rule asks.
    """

    call: Call
    place: int = 0
    words: str = ""
    told: Told | None = None


@dataclass(frozen=True)
class CallPattern:
    """A pattern that fits the calls of any of its symbols; with `any_tool` each call."""

    symbols: tuple[Symbol, ...] = ()
    any_tool: bool = False

    def matches(self, call: Call) -> bool:
        """Return whether a call fits."""
        return self.any_tool or any(symbol.matches(call) for symbol in self.symbols)

    @classmethod
    def parse(cls, written: Any) -> CallPattern:
        """Read a pattern as a rule writes it.

        Raises:
            ValueError: it has another form; the text says which there are.
        """
        parts = written if isinstance(written, list | tuple) else [written]
        if not parts:
            raise ValueError(f"an empty list fits no call: write {_FORMS}")
        symbols = [symbol for part in parts for symbol in _symbols(part)]
        return cls(tuple(symbols), any_tool=ANY_TOOL in parts)


def _symbols(written: Any) -> Iterator[Symbol]:
    if isinstance(written, str) and written:
        yield Symbol.of_tool(written)
        return
    if not isinstance(written, Mapping) or len(written) != 1:
        raise ValueError(f"{written!r} is no pattern of calls: write {_FORMS}")
    ((tool, arguments),) = written.items()
    yield Symbol(str(tool), str(tool), argument_patterns(arguments, str(tool)))


def argument_patterns(written: Any, tool: str) -> dict[str, Pattern]:
    """Read the patterns of a tool's arguments, as a plan writes them.

    Raises:
        ValueError: one has another form.
    """
    if not isinstance(written, Mapping) or not written:
        raise ValueError(f"{tool} needs {{argument: pattern}}, not {written!r}")
    found = {}
    for name, pattern in written.items():
        try:
            found[str(name)] = parse_pattern(pattern)
        except ValueError as error:
            raise ValueError(f"{tool}, argument {name}: {error}") from None
    return found


def in_groups(calls: Iterable[Call]) -> Iterator[Made]:
    """Yield the calls of a trace, those in a row that name one group as of one answer."""
    for group, members in groupby(calls, key=lambda call: call.group):
        for place, call in enumerate(members):
            yield Made(call, 0 if group is None else place, call.words)


class Turns:
    """Tells which calls of an episode a model made in one answer, and what it said beside them.

    Args:
        tools: their schemas, by which calls are told from words; None: words are not read.
    """

    def __init__(self, tools: Iterable[Mapping[str, Any]] | None) -> None:
        self._tools = None if tools is None else Tools(list(tools))
        self._answered = False
        self._place = 0

    def made(self, call: Call, turn: Cost | None) -> Made:
        """Return the next call with its place. Only the first call of a model's answer has costs."""
        if turn is not None and (turn.text or turn.output_tokens):
            self._answered, self._place = True, 0
            words = "" if self._tools is None else parse_answer(turn.text, self._tools, None).words
            return Made(call, 0, words.strip())
        self._place = self._place + 1 if self._answered else 0
        return Made(call, self._place)
