"""The templates of rules as deterministic automata, and the four verdicts on a sequence so far.

The templates have the names and the meaning that they have in Declare, over finite sequences of calls. Each
call tells two things: whether it matches the first pattern, and whether it matches the second. An automaton
goes on after a call that breaks its rule, so that later calls are judged too: a broken rule stays broken.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MOST = 1000
"""Maximum of `times` and `within`: it bounds an automaton's states."""


class Verdict(StrEnum):
    """What a sequence so far says of a rule."""

    SATISFIED = "satisfied"
    """For good: however the sequence goes on."""
    SATISFIED_SO_FAR = "satisfied so far"
    """If it ended now; it may still be violated."""
    VIOLATED_SO_FAR = "violated so far"
    """If it ended now; it may still be satisfied."""
    VIOLATED = "violated"
    """For good: however the sequence goes on."""


@dataclass(frozen=True)
class Machine:
    """A template before its states are numbered.

    Attributes:
        start: its first state.
        step: from a state and whether the call matches the first and the second pattern, the next state and
            whether the call violates the rule for good; then the state is the one to go on from.
        holds: whether the rule is satisfied if the sequence ends in a state, and no call has broken it.
    """

    start: Hashable
    step: Callable[[Any, bool, bool], tuple[Hashable, bool]]
    holds: Callable[[Any], bool]


@dataclass(frozen=True)
class RuleAutomaton:
    """A template as a table; its first state is 0.

    Attributes:
        table: by state, then by letter (1 for the first pattern, plus 2 for the second), the next state and
            whether the call violates the rule for good.
        verdicts: by state, the verdict while no call has broken the rule.
    """

    table: tuple[tuple[tuple[int, bool], ...], ...]
    verdicts: tuple[Verdict, ...]

    @classmethod
    def of(cls, machine: Machine) -> RuleAutomaton:
        """Number the states that can be reached, and work out their verdicts."""
        numbers: dict[Hashable, int] = {machine.start: 0}
        table: list[tuple[tuple[int, bool], ...]] = []
        for state in (found := [machine.start]):
            row = []
            for letter in range(4):
                after, breaks = machine.step(state, bool(letter & 1), bool(letter & 2))
                if after not in numbers:
                    numbers[after] = len(numbers)
                    found.append(after)
                row.append((numbers[after], breaks))
            table.append(tuple(row))
        holds = [machine.holds(state) for state in found]
        may_fail = _reaching(
            table, {n for n, row in enumerate(table) if not holds[n] or any(b for _, b in row)}
        )
        may_hold = _reaching(table, {n for n, held in enumerate(holds) if held})
        verdicts = [
            (Verdict.SATISFIED_SO_FAR if n in may_fail else Verdict.SATISFIED)
            if held
            else (Verdict.VIOLATED_SO_FAR if n in may_hold else Verdict.VIOLATED)
            for n, held in enumerate(holds)
        ]
        return cls(tuple(table), tuple(verdicts))


def _reaching(table: list[tuple[tuple[int, bool], ...]], wanted: Collection[int]) -> Collection[int]:
    """Return the states from which calls that break nothing lead to one of these."""
    before: dict[int, set[int]] = {}
    for state, row in enumerate(table):
        for after, breaks in row:
            if not breaks:
                before.setdefault(after, set()).add(state)
    found, todo = set(wanted), list(wanted)
    while todo:
        new = before.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return found


def _always(_state: Any) -> bool:
    return True


def init() -> Machine:
    """The first call matches."""
    return Machine(
        "before", lambda state, a, _b: ("after", state == "before" and not a), lambda state: state == "after"
    )


def existence(times: int = 1) -> Machine:
    """At least `times` calls match."""
    return Machine(0, lambda n, a, _b: (min(n + a, times), False), lambda n: n == times)


def absence(times: int = 1) -> Machine:
    """Fewer than `times` calls match."""
    return Machine(0, lambda n, a, _b: (min(n + a, times - 1), a and n == times - 1), _always)


def exactly(times: int = 1) -> Machine:
    """As many calls match."""
    return Machine(0, lambda n, a, _b: (min(n + a, times), a and n == times), lambda n: n == times)


def precedence() -> Machine:
    """No B before the first A."""
    return Machine(False, lambda seen, a, b: (seen or a, b and not (seen or a)), _always)


def alternate_precedence() -> Machine:
    """Before each B there is an A of its own: one after the B before it."""
    return Machine(False, lambda ready, a, b: ((ready or a) and not b, b and not (ready or a)), _always)


def response(within: int | None = None) -> Machine:
    """After each A comes a B, as one of the next `within` calls."""

    def step(left: int | None, a: bool, b: bool) -> tuple[int | None, bool]:
        """`left`: the calls that may still answer the oldest open A; 0: none is open; None: any number."""
        if b:
            return 0, False
        if left is None or (left == 0 and not a):
            return left, False
        if left == 0:
            return within, False
        return (left - 1, False) if left > 1 else (within if a else 0, True)

    return Machine(0, step, lambda left: left == 0)


def chain_response() -> Machine:
    """The call right after each A is a B."""
    return Machine(False, lambda due, a, b: (a, due and not b), lambda due: not due)


def chain_precedence() -> Machine:
    """The call right before each B is an A."""
    return Machine(False, lambda ready, a, b: (a, b and not ready), _always)


def co_existence() -> Machine:
    """A and B both occur, or neither."""
    return Machine((False, False), _occurred, lambda seen: seen[0] == seen[1])


def not_co_existence() -> Machine:
    """A and B do not both occur."""

    def step(seen: tuple[bool, bool], a: bool, b: bool) -> tuple[tuple[bool, bool], bool]:
        after, _ = _occurred(seen, a, b)
        return (seen, True) if all(after) else (after, False)

    return Machine((False, False), step, _always)


def _occurred(seen: tuple[bool, bool], a: bool, b: bool) -> tuple[tuple[bool, bool], bool]:
    return (seen[0] or a, seen[1] or b), False


def not_succession() -> Machine:
    """After an A comes no B: no edge from A to B, however late."""
    return Machine(False, lambda seen, a, b: (seen or a, seen and b), _always)


def not_chain_succession() -> Machine:
    """Right after an A comes no B: no edge from A to B."""
    return Machine(False, lambda before, a, b: (a, before and b), _always)


def both(one: Machine, other: Machine) -> Machine:
    """Both rules hold."""

    def step(state: tuple[Any, Any], a: bool, b: bool) -> tuple[tuple[Hashable, Hashable], bool]:
        (left, first), (right, second) = one.step(state[0], a, b), other.step(state[1], a, b)
        return (left, right), first or second

    return Machine(
        (one.start, other.start), step, lambda state: one.holds(state[0]) and other.holds(state[1])
    )


UNARY: Mapping[str, Callable[[], Machine] | Callable[[int], Machine]] = {
    "init": init,
    "existence": existence,
    "absence": absence,
    "exactly": exactly,
}
"""The templates of one pattern; all but `init` take `times`."""
BINARY: Mapping[str, Callable[[], Machine]] = {
    "precedence": precedence,
    "alternate_precedence": alternate_precedence,
    "response": response,
    "succession": lambda: both(precedence(), response()),
    "chain_response": chain_response,
    "chain_precedence": chain_precedence,
    "chain_succession": lambda: both(chain_precedence(), chain_response()),
    "co_existence": co_existence,
    "not_co_existence": not_co_existence,
    "not_succession": not_succession,
    "not_chain_succession": not_chain_succession,
}
"""The templates of two patterns; `response` takes `within`."""
