"""An automaton from accepted traces, by merging the states of their prefix tree.

Two prefixes lead to the same state where they made the same calls, each as often, in whatever order. Calls
that the traces make in both orders may then be made in any: a call needs those before it that come before it
in every trace with both. What no trace did, but this allows, are generalised edges. A rejected trace that
they would accept takes one of them away again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from core_eval.call_status import CallStatus
from core_eval.learn.alphabet import Alphabet
from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call
from core_eval.path.symbols import Symbol

MOST_STATES = 4096
"""Where generalising makes more states, only what was seen is kept."""
READING = 2
Token = tuple[str, int]
"""A symbol, and how often it was made before."""
State = frozenset[Token]
Edge = tuple[State, Token]


@dataclass(frozen=True)
class LearnedTask:
    """What traces teach of a task.

    Attributes:
        automaton: its automaton.
        seen: how many progress edges a trace has.
        generalised: the edges that no trace has: from, symbol, to.
        symbols: the names of symbols that fit more calls than were seen.
        taken_back: edges that rejected traces spoke against.
        conflicts: the numbers of rejected traces that went the way of an accepted one.
        is_whole: whether generalising had less than `MOST_STATES` states.
    """

    automaton: TaskAutomaton
    seen: int
    generalised: tuple[tuple[str, str, str], ...]
    symbols: tuple[str, ...]
    taken_back: int = 0
    conflicts: tuple[int, ...] = ()
    is_whole: bool = True


def writes_of(calls: Iterable[Call], reads: frozenset[str]) -> list[Call]:
    """Return the executed calls that are no reads and changed something."""
    return [
        call for call in calls if call.status is CallStatus.OK and not call.idle and call.name not in reads
    ]


def learn(
    accepted: Sequence[Sequence[Call]],
    rejected: Sequence[Sequence[Call]] = (),
    *,
    reads: frozenset[str] = frozenset(),
) -> LearnedTask:
    """Learn an automaton.

    Args:
        accepted: the calls of traces that did the task.
        rejected: those of traces that did not.
        reads: the tools that only read, which are free everywhere.

    Raises:
        ValueError: no trace is accepted.
    """
    if not accepted:
        raise ValueError("no accepted trace: there is nothing to learn from")
    writes = [writes_of(calls, reads) for calls in accepted]
    alphabet = Alphabet(call for calls in writes for call in calls)
    words = [[alphabet.name(call) or "" for call in calls] for calls in writes]
    merged = _Merged(words)
    for number, calls in enumerate(rejected):
        names = [alphabet.name(call) for call in writes_of(calls, reads)]
        merged.reject(number, [name for name in names if name is not None] if None not in names else None)
    return merged.learned(alphabet, reads)


def _tokens(word: Iterable[str]) -> list[Token]:
    counts: Counter[str] = Counter()
    found = []
    for name in word:
        found.append((name, counts[name]))
        counts[name] += 1
    return found


@dataclass
class _Merged:
    """The merged states and their edges."""

    words: Sequence[Sequence[str]]
    edges: dict[Edge, State] = field(default_factory=dict)
    taken_back: int = 0
    conflicts: list[int] = field(default_factory=list)
    is_whole: bool = True

    def __post_init__(self) -> None:
        runs = [_tokens(word) for word in self.words]
        self.variants = list(dict.fromkeys(frozenset(run) for run in runs))
        self.seen: dict[Edge, State] = {}
        for run in runs:
            for place, token in enumerate(run):
                before = frozenset(run[:place])
                self.seen[before, token] = before | {token}
        self._needed = _needed(runs)
        self.edges = dict(self._allowed())
        if not self.is_whole:
            self.edges = dict(self.seen)

    def _allowed(self) -> Iterator[tuple[Edge, State]]:
        """Yield all edges that the order of calls allows."""
        start: State = frozenset()
        found, todo = {start}, [start]
        while todo:
            state = todo.pop()
            for token in {one for variant in self.variants if state <= variant for one in variant - state}:
                after = state | {token}
                if not any(
                    after <= variant and self._needed.get(token, frozenset()) & variant <= state
                    for variant in self.variants
                ):
                    continue
                yield (state, token), after
                if after not in found:
                    found.add(after)
                    todo.append(after)
                    if len(found) > MOST_STATES:
                        self.is_whole = False
                        return

    def reject(self, number: int, word: Sequence[str] | None) -> None:
        """Take a rejected trace; None: it has calls unlike those of accepted traces."""
        if word is None:
            return
        state: State = frozenset()
        path: list[Edge] = []
        for token in _tokens(word):
            path.append((state, token))
            if path[-1] not in self.edges:
                return
            state = self.edges[path[-1]]
        if state not in self.variants:
            return
        doubtful = [edge for edge in path if edge not in self.seen]
        if doubtful:
            del self.edges[doubtful[-1]]
            self.taken_back += 1
        else:
            self.conflicts.append(number)

    def learned(self, alphabet: Alphabet, reads: frozenset[str]) -> LearnedTask:
        """Return the automaton."""
        useful = self._useful()
        edges = {edge: after for edge, after in self.edges.items() if edge[0] in useful and after in useful}
        names = {
            state: f"s{number}"
            for number, state in enumerate(sorted(useful, key=lambda state: (len(state), sorted(state))))
        }
        automaton = TaskAutomaton(
            states=list(names.values()),
            symbols=[*alphabet.symbols.values()],
            start=names[frozenset()],
            accepting=[names[variant] for variant in self.variants],
            delta={(names[state], token[0]): names[after] for (state, token), after in edges.items()},
            reading=READING,
            also_free=[Symbol.of_tool(tool) for tool in sorted(reads)],
        )
        generalised = tuple(
            (names[state], token[0], names[after])
            for (state, token), after in edges.items()
            if (state, token) not in self.seen
        )
        return LearnedTask(
            automaton,
            len(self.seen),
            generalised,
            tuple(sorted(alphabet.generalised)),
            self.taken_back,
            tuple(self.conflicts),
            self.is_whole,
        )

    def _useful(self) -> set[State]:
        """Return the states from the start that lead to the end of a trace."""
        after: dict[State, set[State]] = {}
        before: dict[State, set[State]] = {}
        for (state, _), target in self.edges.items():
            after.setdefault(state, set()).add(target)
            before.setdefault(target, set()).add(state)
        return _reached([frozenset()], after) & _reached(self.variants, before)


def _reached(starts: Iterable[State], edges: dict[State, set[State]]) -> set[State]:
    found = set(starts)
    todo = list(found)
    while todo:
        new = edges.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return found


def _needed(runs: Sequence[Sequence[Token]]) -> dict[Token, frozenset[Token]]:
    """Return for each token those that come before it in every trace that has both."""
    earlier: dict[Token, set[Token]] = {}
    later: dict[Token, set[Token]] = {}
    for run in runs:
        for place, token in enumerate(run):
            earlier.setdefault(token, set()).update(run[:place])
            later.setdefault(token, set()).update(run[place + 1 :])
    return {token: frozenset(ones - later[token]) for token, ones in earlier.items()}
