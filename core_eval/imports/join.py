"""Whether the tasks that traces are joined with are theirs: what the gold names must occur in the traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core_eval.imports.record import Gold, ImportedTrace
from core_eval.path.automaton import TaskAutomaton
from core_eval.path.patterns import Exact
from core_eval.text.json_text import to_json

ENOUGH = 0.5
"""Share of the gold's entities that must occur in the conversations."""
LEAST_LETTERS = 4
"""Shorter texts, and numbers, occur anywhere by chance."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """How far gold and conversations fit.

    Attributes:
        share: mean over the traces of the share of the gold's entities that occur in the conversation.
        traces: those whose gold names any entity.
    """

    share: float
    traces: int

    @property
    def fits(self) -> bool:
        """Whether it is enough; without any entity nothing can be told."""
        return not self.traces or self.share >= ENOUGH


def overlap(pairs: Iterable[tuple[str, Iterable[str]]]) -> Overlap:
    """Return the overlap of conversations with the entities of their gold."""
    shares = []
    for text, entities in pairs:
        names = set(entities)
        if names:
            shares.append(sum(name in text for name in names) / len(names))
    return Overlap(sum(shares) / len(shares) if shares else 0.0, len(shares))


def entities(value: Any) -> Iterator[str]:
    """Yield the texts in arguments that name something: ids, dates, names."""
    if isinstance(value, str):
        if len(value) >= LEAST_LETTERS:
            yield value.casefold()
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from entities(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from entities(item)


def gold_entities(gold: Gold | None) -> Iterator[str]:
    """Yield the entities that the calls of a gold name."""
    for call in () if gold is None else gold.calls:
        yield from entities(call.arguments)


def automaton_entities(automaton: TaskAutomaton) -> Iterator[str]:
    """Yield the entities that the calls of a task's automaton name."""
    for symbol in automaton.symbols.values():
        for pattern in symbol.arguments.values():
            if isinstance(pattern, Exact):
                yield from entities(pattern.value)


def conversation(trace: ImportedTrace) -> str:
    """Return all that is said, called and answered in a trace, in one case; not its task's text."""
    said = [message.text for message in trace.messages if message.role != "system"]
    made = [to_json(call.arguments) for call in trace.calls]
    # As JSON escapes quotes in results, the arguments stand beside.
    return "\n".join((*said, *made)).casefold()
