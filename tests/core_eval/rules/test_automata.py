"""Each template against its finite-trace semantics, evaluated by brute force over all short sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from core_eval.rules import automata
from core_eval.rules.automata import Machine, RuleAutomaton, Verdict

Word = Sequence[int]
"""Letters: 1 if the call matches A, plus 2 if it matches B."""
LONGEST, JUDGED = 7, 5
"""Every sequence to the first length is evaluated, so every verdict to the second one: a rule below needs two
more calls at most to be satisfied, or violated.
"""


def at(word: Word, letter: int) -> list[int]:
    return [place for place, one in enumerate(word) if one & letter]


def responded(word: Word, within: int | None = None) -> bool:
    last = len(word) if within is None else within
    return all(any(i <= j <= i + last for j in at(word, 2)) for i in at(word, 1))


def preceded(word: Word) -> bool:
    return all(any(i <= j for i in at(word, 1)) for j in at(word, 2))


def alternately_preceded(word: Word) -> bool:
    return all(any(i <= j and not at(word[i:j], 2) for i in at(word, 1)) for j in at(word, 2))


def chain_responded(word: Word) -> bool:
    return all(i + 1 in at(word, 2) for i in at(word, 1))


def chain_preceded(word: Word) -> bool:
    return all(j - 1 in at(word, 1) for j in at(word, 2))


SEMANTICS: dict[str, tuple[Machine, Callable[[Word], bool]]] = {
    "init": (automata.init(), lambda word: 0 in at(word, 1)),
    "existence": (automata.existence(), lambda word: len(at(word, 1)) >= 1),
    "existence 2": (automata.existence(2), lambda word: len(at(word, 1)) >= 2),
    "absence": (automata.absence(), lambda word: len(at(word, 1)) < 1),
    "absence 2": (automata.absence(2), lambda word: len(at(word, 1)) < 2),
    "exactly": (automata.exactly(), lambda word: len(at(word, 1)) == 1),
    "exactly 2": (automata.exactly(2), lambda word: len(at(word, 1)) == 2),
    "precedence": (automata.precedence(), preceded),
    "alternate_precedence": (automata.alternate_precedence(), alternately_preceded),
    "response": (automata.response(), responded),
    "response within 1": (automata.response(1), lambda word: responded(word, 1)),
    "response within 2": (automata.response(2), lambda word: responded(word, 2)),
    "succession": (automata.BINARY["succession"](), lambda word: preceded(word) and responded(word)),
    "chain_response": (automata.chain_response(), chain_responded),
    "chain_precedence": (automata.chain_precedence(), chain_preceded),
    "chain_succession": (
        automata.BINARY["chain_succession"](),
        lambda word: chain_responded(word) and chain_preceded(word),
    ),
    "co_existence": (automata.co_existence(), lambda word: bool(at(word, 1)) == bool(at(word, 2))),
    "not_co_existence": (automata.not_co_existence(), lambda word: not (at(word, 1) and at(word, 2))),
    "not_succession": (
        automata.not_succession(),
        lambda word: not any(i < j for i in at(word, 1) for j in at(word, 2)),
    ),
    "not_chain_succession": (
        automata.not_chain_succession(),
        lambda word: not any(i + 1 == j for i in at(word, 1) for j in at(word, 2)),
    ),
}


def test_no_template_is_left_out() -> None:
    assert {name.split()[0] for name in SEMANTICS} == {*automata.UNARY, *automata.BINARY}


@pytest.mark.parametrize("name", SEMANTICS)
def test_the_verdict_on_every_sequence_is_that_of_its_semantics(name: str) -> None:
    machine, holds = SEMANTICS[name]
    automaton = RuleAutomaton.of(machine)
    letters = range(2) if name.split()[0] in automata.UNARY else range(4)
    seen = set()

    def judge(word: tuple[int, ...], state: int, broken: bool) -> tuple[bool, bool]:
        """Return whether all, and whether any, of the sequence and those that go on from it satisfy it."""
        now = holds(word)
        every, some = now, now
        for letter in letters if len(word) < LONGEST else ():
            after, breaks = automaton.table[state][letter]
            all_of, one_of = judge((*word, letter), after, broken or breaks)
            every, some = every and all_of, some or one_of
        if len(word) <= JUDGED:
            expected = (
                (Verdict.SATISFIED if every else Verdict.SATISFIED_SO_FAR)
                if now
                else (Verdict.VIOLATED_SO_FAR if some else Verdict.VIOLATED)
            )
            assert (Verdict.VIOLATED if broken else automaton.verdicts[state]) == expected, (name, word)
            seen.add(expected)
        return every, some

    judge((), 0, False)
    assert len(seen) > 1


@pytest.mark.parametrize("name", SEMANTICS)
def test_no_state_of_an_unbroken_rule_is_violated_for_good(name: str) -> None:
    """So a call violates a rule for good just where the table says that it breaks it."""
    assert Verdict.VIOLATED not in RuleAutomaton.of(SEMANTICS[name][0]).verdicts
