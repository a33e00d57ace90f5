"""Grammars of an answer: of all of it, or from the beginning of a call to its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agents.formats.format import Format
from agents.formats.grammar import Rules, in_class, literal
from agents.formats.known_marks import known_marks
from agents.formats.registry import PLAIN

ANY = "[^\\x00]*"


def answer_grammar(
    schemas: Sequence[Mapping[str, Any]], form: Format = PLAIN, *, opened: bool = False
) -> str:
    """Return the grammar of a whole answer: thoughts and words are free, and what begins as a call is one.

    Args:
        schemas: function schemas of the tools.
        form: the syntax of calls.
        opened: the prompt ended with the beginning of a thought.
    """
    rules = Rules()
    functions = [schema["function"] for schema in schemas]
    calls = form.grammar(rules, functions) if functions else None
    answer = rules.add("answer", _answer(rules, form, calls))
    pairs = known_marks().pairs
    close = rules.add("close", " | ".join(map(literal, pairs.values())))
    thought = rules.add(
        "thinking", f"{rules.text_without([*pairs.values()], 'thought')} ( {close} {answer} )?"
    )
    opens = " | ".join(map(literal, pairs))
    rules.add("root", thought if opened else f"( {opens} ) {thought} | {answer}")
    return rules.text()


def call_grammar(schemas: Sequence[Mapping[str, Any]], form: Format, before: str) -> str:
    """Return the grammar of one run of calls, after a text that stands already, and of any text after it."""
    rules = Rules()
    calls = form.grammar(rules, [schema["function"] for schema in schemas])
    # A token that ends a call may hold what follows it: `}` and a newline are often one.
    rules.add("root", f"{literal(before)} {calls} {ANY}")
    return rules.text()


def _answer(rules: Rules, form: Format, calls: str | None) -> str:
    if form.bare:
        # Such a call has no mark: it is one where it begins the answer.
        rules.add("words", f"[^{in_class(form.bare)}\\x00\\n ] {ANY}")
        run = f"| {calls} ( [\\n ;]* {calls} )* ( [\\n ] {ANY} )?" if calls else ""
        return f'[\\n ]* ( "" | words {run} )'
    text = rules.text_without(form.opens or form.marks, "text")
    return f"{text} ( {calls} {text} )*" if calls else text
