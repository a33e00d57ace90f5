"""What a task expects in a state of its automaton, in words."""

from __future__ import annotations

from core_eval.path import TaskAutomaton

MOST_NAMED = 4


def expected_calls(automaton: TaskAutomaton, state: str | None) -> str:
    """Return which calls lead on from a state, or end there; empty where none does."""
    symbols = [symbol for symbol, _ in automaton.progress.get(state or "", ())]
    if len(symbols) > MOST_NAMED:
        symbols = [*symbols[:MOST_NAMED], f"{len(symbols) - MOST_NAMED} others"]
    end = ["no further call"] if state in automaton.accepting else []
    return ", or ".join([*end, *([" or ".join(symbols)] if symbols else [])])
