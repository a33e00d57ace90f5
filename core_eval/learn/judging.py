"""How well learned automata judge traces that they have not seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.learn.merging import LearnedTask, learn, writes_of
from core_eval.path.calls import Call
from core_eval.path.scorer import score_path
from core_eval.text.streams import stream
from core_eval.text.values import is_number

Learner = Callable[[Sequence[Sequence[Call]], Sequence[Sequence[Call]]], Callable[[Sequence[Call]], bool]]
"""Learns from accepted and rejected traces what tells whether one is accepted."""
STREAMS = 2


@dataclass
class Judged:
    """Traces that were left out of what was learned from, and how they were judged.

    Attributes:
        accepted, harmed: accepted traces left out, and those among them that were judged wrong.
        new, new_harmed: of both, those whose writes no other accepted trace has in this order.
        planted, passed: traces with a planted mistake, and those that were judged right; by kind.
        rejected, missed: rejected traces left out, and those that were judged right.
    """

    accepted: int = 0
    harmed: int = 0
    new: int = 0
    new_harmed: int = 0
    planted: Counter[str] = field(default_factory=Counter)
    passed: Counter[str] = field(default_factory=Counter)
    rejected: int = 0
    missed: int = 0

    def __iadd__(self, other: Judged) -> Judged:
        """Add the counts of another."""
        self.accepted += other.accepted
        self.harmed += other.harmed
        self.new += other.new
        self.new_harmed += other.new_harmed
        self.planted += other.planted
        self.passed += other.passed
        self.rejected += other.rejected
        self.missed += other.missed
        return self

    def as_json(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        return {
            "accepted": self.accepted,
            "harmed": self.harmed,
            "new": self.new,
            "new_harmed": self.new_harmed,
            "planted": dict(self.planted),
            "passed": dict(self.passed),
            "rejected": self.rejected,
            "missed": self.missed,
        }


def takes(learned: LearnedTask, calls: Sequence[Call], reads: frozenset[str]) -> bool:
    """Return whether an automaton accepts the executed writes of a trace, none of them harmful.

    That a refused call was a mistake is told without an automaton.
    """
    scores = score_path(learned.automaton, writes_of(calls, reads))
    return bool(scores.accepted) and scores.harmful_calls == 0


def merging(reads: frozenset[str]) -> Learner:
    """Return the learner of this package."""

    def learner(
        accepted: Sequence[Sequence[Call]], rejected: Sequence[Sequence[Call]]
    ) -> Callable[[Sequence[Call]], bool]:
        learned = learn(accepted, rejected, reads=reads)
        return lambda calls: takes(learned, calls, reads)

    return learner


def leave_one_out(
    accepted: Sequence[Sequence[Call]],
    rejected: Sequence[Sequence[Call]],
    *,
    reads: frozenset[str],
    seed: int = 0,
    learner: Learner | None = None,
) -> Judged:
    """Judge each trace by what is learned from the others.

    Into each accepted one mistakes are planted: a write is left out that all accepted traces make, two are
    swapped that all make in one order, one is made once more than in any, one has another value, or one is of
    a tool that no accepted trace calls.
    """
    made = learner or merging(reads)
    found = Judged()
    courses = [[_named(call) for call in writes_of(calls, reads)] for calls in accepted]
    for number, calls in enumerate(accepted):
        is_right = made([*accepted[:number], *accepted[number + 1 :]], rejected)
        is_new, is_harmed = courses.count(courses[number]) == 1, not is_right(calls)
        found.accepted += 1
        found.harmed += is_harmed
        found.new += is_new
        found.new_harmed += is_new and is_harmed
        for kind, wrong in planted(
            calls, accepted, reads, Random(stream(STREAMS, seed, f"planted {number}"))
        ):
            found.planted[kind] += 1
            found.passed[kind] += is_right(wrong)
    for number, calls in enumerate(rejected):
        is_right = made(accepted, [*rejected[:number], *rejected[number + 1 :]])
        found.rejected += 1
        found.missed += is_right(calls)
    return found


def planted(
    calls: Sequence[Call], accepted: Sequence[Sequence[Call]], reads: frozenset[str], chance: Random
) -> Iterator[tuple[str, list[Call]]]:
    """Yield an accepted trace with one mistake of each kind that can be planted into it."""
    mine = writes_of(calls, reads)
    others = [[_named(call) for call in writes_of(one, reads)] for one in accepted]
    names = [_named(call) for call in mine]
    needed = [k for k, name in enumerate(names) if all(name in one for one in others)]
    if needed:
        k = chance.choice(needed)
        # All calls alike go, so that one too many in this trace does not hide it.
        yield "left out", [call for call in mine if _named(call) != names[k]]
    ordered = [
        k
        for k in range(len(names) - 1)
        if names[k] != names[k + 1] and all(_is_before(names[k], names[k + 1], one) for one in others)
    ]
    if ordered:
        k = chance.choice(ordered)
        yield "swapped", [*mine[:k], mine[k + 1], mine[k], *mine[k + 2 :]]
    most = {name: max(one.count(name) for one in others) for name in names}
    again = [k for k, name in enumerate(names) if names.count(name) == most[name]]
    if again:
        k = chance.choice(again)
        yield "once more", [*mine[: k + 1], mine[k], *mine[k + 1 :]]
    valued = [k for k, call in enumerate(mine) if call.arguments]
    if valued:
        k = chance.choice(valued)
        yield "other value", [*mine[:k], _other(mine[k], chance), *mine[k + 1 :]]
    k = chance.randint(0, len(mine))
    yield "other tool", [*mine[:k], Call("another_tool", {}, CallStatus.OK), *mine[k:]]


def _named(call: Call) -> str:
    return f"{call.name} {sorted(call.arguments.items(), key=str)}"


def _is_before(one: str, other: str, names: Sequence[str]) -> bool:
    """Return whether all of the one come before all of the other; so it is, too, where one is missing."""
    if one not in names or other not in names:
        return True
    return len(names) - 1 - names[::-1].index(one) < names.index(other)


def _other(call: Call, chance: Random) -> Call:
    name = chance.choice(sorted(call.arguments))
    value = call.arguments[name]
    changed = value * 1.7 + 3 if is_number(value) else not value if isinstance(value, bool) else f"{value}_2"
    return replace(call, arguments={**call.arguments, name: changed})
