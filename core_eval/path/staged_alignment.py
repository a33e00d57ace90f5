"""Aligns a path with a plan of stages: a stage stays a set, whose orders are never listed.

All golden paths have the same length and the same symbols.

**Edits.** Of a segment `s` of the path and a stage `M` of `k` symbols, with `t` symbols in common (each as
often as in both), the least edit distance of `s` to an order of `M` is `max(|s|, k) - t`. It is no less: an
alignment has at most `t` equal pairs, and each other element of the longer of the two costs an edit. It is no
more: leave the `t` common elements where they are in `s`, put as many of the other `k - t` as possible in the
places of the other `|s| - t`, and insert or delete the rest. Dynamic programming splits the path.

**Order.** The calls that pair by occurrence with a golden step are the same for every golden path, and so is
the stage of each. Pairs of different stages are in order or not whatever the golden path. Those of one stage
are all in order if it has them in the order of the calls; its *excess* is how many are not. The fewest edits
without excess bound PC-KTC from above. Where one stage has distinct symbols, the construction above reaches
that: it leaves the common symbols in the order of the calls. Elsewhere (a call of a later stage came early)
edits and excess are weighed: the fewest edits of each small excess are computed, by the steps that wait while
later ones are made, until no greater excess can be better, or SEARCH_WORK is used up. Then PC-KTC has bounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from core_eval.path.aligned import Aligned
from core_eval.path.automaton import TaskAutomaton
from core_eval.path.body_rows import Row, candidate_bodies, extended, least
from core_eval.path.metrics import concordance, efficiency, similarity
from core_eval.path.optional_alignment import align_optional, optional_correctness
from core_eval.path.stages import Stages

WORK = 4_000_000
"""Beyond so many steps of a dynamic programme (about two seconds), a score is given as bounds."""
SEARCH_WORK = 3_000_000
"""The same of the search for excess, whose steps take longer."""
Stage = tuple[int, ...]
_Table = dict[int, Row]
"""The edits of each beginning of a path, by excess."""
_Made = tuple[int, tuple[int, ...], int, tuple[int, ...]]
"""How many paired steps of a stage are begun with, and which of these wait; what is left of the others."""


class GoldenStages:
    """The golden paths of a plan of stages, by the numbers of symbols.

    Attributes:
        tokens: the symbols' numbers.
        length: of every golden path.
    """

    acyclic = True

    def __init__(self, automaton: TaskAutomaton, stages: Stages) -> None:
        self.tokens = {name: number for number, name in enumerate(automaton.symbols)}
        self._plan = stages
        self.stages: list[Stage] = [tuple(self.tokens[name] for name in stage) for stage in stages.stages]
        self.length = stages.length
        self.optional = stages.optional

    def legal(self, state: str) -> tuple[int, ...]:
        """Return the self-loops of a state."""
        return tuple(self.tokens[name] for name in self._plan.loops[state])

    def ahead(self, state: str) -> list[Stage]:
        """Return the stages that are left in a state, the first as far as it is not done."""
        number, _ = self._plan.place(state)
        left = tuple(self.tokens[name] for name in self._plan.left(state))
        return [stage for stage in (left, *self.stages[number + 1 :]) if stage]


class StagedRow:
    """The calls so far, for their path correctness."""

    def __init__(self, golden: GoldenStages) -> None:
        self._golden = golden
        self._path: list[int] = []

    def advance(self, token: int) -> None:
        """Append one call of the condensed path."""
        self._path.append(token)

    def best(self) -> float:
        """Return the path correctness of the calls so far."""
        return _correctness(self._golden, self._path)[0]


def align_stages(
    golden: GoldenStages,
    path: Sequence[int],
    repairs: Sequence[tuple[int, ...] | None],
    end: str,
    *,
    calls: int,
    lam: float,
) -> Aligned:
    """Align a condensed path with all golden paths; the parameters are those of `align`."""
    if golden.optional:
        work = len(path) * (len(path) + golden.length) * (len(repairs) - repairs.count(None) + 1)
        return align_optional(
            golden.stages[0], golden.ahead(end), path, repairs, calls=calls, lam=lam, exact=work <= WORK
        )
    low, high = _correctness(golden, path)
    order, most_in_order = _in_order(golden, path, low, high, lam)
    refined, most_refined = _refined(golden, path, repairs, end)
    aligned = Aligned(low, order, refined, efficiency(calls, 1 << golden.length))
    aligned.bound("path_correctness", low, high)
    aligned.bound("pc_ktc", order, most_in_order)
    aligned.bound("path_correctness_hlr", refined, most_refined)
    return aligned


def _correctness(golden: GoldenStages, path: Sequence[int]) -> tuple[float, float]:
    """Return a lower and an upper bound of path correctness, equal where it is exact."""
    if golden.optional:
        return (found := optional_correctness(golden.stages[0], path)), found
    calls, length = len(path), golden.length
    if _work(golden.stages, calls) <= WORK:
        exact = similarity(calls, length, _edits(golden.stages, path)[0])
        return exact, exact
    steps = Counter(token for stage in golden.stages for token in stage)
    longer, common = max(calls, length), (Counter(path) & steps).total()
    return similarity(calls, length, longer), similarity(calls, length, longer - common)


def _work(stages: Sequence[Stage], calls: int) -> int:
    return sum(calls if len(stage) == 1 else calls * calls // 2 for stage in stages)


def _edits(stages: Sequence[Stage], path: Sequence[int]) -> Row:
    """Return the least edits of each rest of a path, from the whole one on, to the stages."""
    calls = len(path)
    after = [calls - start for start in range(calls + 1)]
    for stage in reversed(stages):
        if len(stage) == 1:
            row = [after[calls] + 1]
            for start in range(calls - 1, -1, -1):
                changed = after[start + 1] + (path[start] != stage[0])
                row.append(min(changed, after[start] + 1, row[-1] + 1))
            after = row[::-1]
            continue
        size, row = len(stage), []
        for start in range(calls + 1):
            left, common = Counter(stage), 0
            best = size + after[start]
            for place in range(start, calls):
                if left[path[place]] > 0:
                    left[path[place]] -= 1
                    common += 1
                best = min(best, max(place + 1 - start, size) - common + after[place + 1])
            row.append(best)
        after = row
    return after


def _in_order(
    golden: GoldenStages, path: Sequence[int], correctness: float, highest: float, lam: float
) -> tuple[float, float]:
    """Return a lower and an upper bound of PC-KTC, equal where it is exact."""
    stages_of: dict[int, list[int]] = {}
    for number, stage in enumerate(golden.stages):
        for token in stage:
            stages_of.setdefault(token, []).append(number)
    paired: list[list[int]] = [[] for _ in golden.stages]
    found: Counter[int] = Counter()
    sequence = []
    for token in path:
        if found[token] < len(stages_of.get(token, ())):
            number = stages_of[token][found[token]]
            found[token] += 1
            paired[number].append(token)
            sequence.append(number)
    count = len(sequence)
    if count < 2:
        return lam * correctness + (1.0 - lam) * 0.5, lam * highest + (1.0 - lam) * 0.5
    discordant = _inversions(sequence, len(golden.stages))
    best = concordance(count, discordant)
    high = lam * highest + (1.0 - lam) * best
    one_set = len(golden.stages) == 1 and max(Counter(golden.stages[0]).values()) == 1
    if one_set and correctness == highest:
        return high, high
    low, excess, left = 0.0, 0, SEARCH_WORK
    while low < high and left > 0:
        search = _Search(golden.stages, paired, path, excess, left)
        for more, edits in enumerate(search.edits):
            order = concordance(count, discordant + more)
            low = max(low, lam * similarity(len(path), golden.length, edits) + (1.0 - lam) * order)
        left -= search.work
        if search.whole:
            beyond = concordance(count, discordant + excess + 1)
            high = max(low, min(high, lam * highest + (1.0 - lam) * beyond))
        excess = 4 * excess + 2
    return max(low, lam * correctness), high


def _inversions(numbers: Sequence[int], most: int) -> int:
    """Return how many pairs of numbers below `most` stand in falling order."""
    seen, total = [0] * (most + 1), 0
    for passed, number in enumerate(numbers):
        # The numbers so far that are not above this one, by a Fenwick tree.
        place, lower = number + 1, 0
        while place:
            lower += seen[place]
            place &= place - 1
        total += passed - lower
        place = number + 1
        while place <= most:
            seen[place] += 1
            place += place & -place
    return total


class _Search:
    """The fewest edits to the golden paths of each excess, up to `most`.

    Of a stage, the paired steps are made in the order of the calls, except that some wait while later ones
    are made. Its other steps stand anywhere, but not before a paired one of their own symbol: they would be
    paired in its place. Those whose symbol no call has are all alike.

    Attributes:
        edits: by excess; of one that no golden path has, as many as the longer path has elements.
        work: the steps that it took.
        whole: whether they were enough.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        paired: Sequence[Sequence[int]],
        path: Sequence[int],
        most: int,
        work: int,
    ) -> None:
        self.work, self._limit, self._path, self._most = 0, work, path, most
        table: _Table = {0: list(range(len(path) + 1))}
        for stage, steps in zip(stages, paired, strict=True):
            table = self._stage(stage, steps, table)
        self.whole = self.work < work
        longer = max(len(path), sum(map(len, stages)))
        self.edits = (
            [table[excess][-1] if excess in table else longer for excess in range(most + 1)]
            if self.whole
            else []
        )

    def _stage(self, stage: Stage, steps: Sequence[int], table: _Table) -> _Table:
        others = Counter(stage) - Counter(steps)
        called = set(self._path)
        alike = sum(times for token, times in others.items() if token not in called)
        named = [(token, times) for token, times in others.items() if token in called]
        tokens = [token for token, _ in named]
        level: dict[_Made, _Table] = {(0, (), alike, tuple(times for _, times in named)): table}
        for _ in stage:
            below: dict[_Made, _Table] = {}
            for made, rows in level.items():
                for token, cost, after in _next(made, steps, tokens, self._most):
                    more = self._extended(rows, token, cost, _waits(after))
                    known = below.setdefault(after, more) if more else more
                    if known is not more:
                        for excess, row in more.items():
                            known[excess] = least(known[excess], row) if excess in known else row
            level = below
            if self.work >= self._limit:
                return {}
        (table,) = level.values()
        return table

    def _extended(self, rows: _Table, token: int, cost: int, waiting: int) -> _Table:
        within = [excess for excess in rows if excess + cost + waiting <= self._most]
        self.work += 1 + len(within) * len(self._path)
        tokens = () if token < 0 else (token,)
        return {excess + cost: extended(rows[excess], tokens, self._path) for excess in within}


def _next(
    made: _Made, steps: Sequence[int], named: Sequence[int], most: int
) -> Iterator[tuple[int, int, _Made]]:
    """Yield each step that may follow in a stage, as its token, its excess, and what is made then.

    A token of -1 is equal to no call.
    """
    begun, waiting, alike, others = made
    held = [steps[place] for place in waiting]
    for number, place in enumerate(waiting):
        if steps[place] not in held[:number]:
            passed = begun - place - 1 - (len(waiting) - number - 1)
            yield steps[place], passed, (begun, waiting[:number] + waiting[number + 1 :], alike, others)
    # Each step that waits adds to the excess.
    for place in range(begun, min(len(steps), begun + most + 1)):
        if steps[place] not in held:
            yield steps[place], 0, (place + 1, waiting + tuple(range(begun, place)), alike, others)
        held.append(steps[place])
    if alike:
        yield -1, 0, (begun, waiting, alike - 1, others)
    for number, token in enumerate(named):
        if others[number] and token not in steps[begun:] and all(steps[place] != token for place in waiting):
            rest = (*others[:number], others[number] - 1, *others[number + 1 :])
            yield token, 0, (begun, waiting, alike, rest)


def _waits(made: _Made) -> int:
    """Return the least excess that the waiting steps will add."""
    begun, waiting, _, _ = made
    return sum(begun - place - (len(waiting) - number) for number, place in enumerate(waiting))


def _refined(
    golden: GoldenStages, path: Sequence[int], repairs: Sequence[tuple[int, ...] | None], end: str
) -> tuple[float, float]:
    """Return a lower and an upper bound of PC+HLR, equal where it is exact.

    The candidates' bodies are aligned with each beginning of the path, by how many harmful calls they keep,
    and the golden suffixes with each rest.
    """
    ahead = golden.ahead(end)
    calls, suffix, kept = len(path), sum(map(len, ahead)), repairs.count(None)
    harmful = sum(bool(repair) for repair in repairs)
    if calls * calls * (harmful + 1) + _work(ahead, calls) > WORK:
        alien = sum(token < 0 for token in path)
        lengths = range(kept + suffix, kept + suffix + harmful + 1)
        high = max(similarity(calls, length, max(alien, abs(calls - length))) for length in lengths)
        return similarity(calls, kept + suffix, calls - kept + suffix), high
    rest = _edits(ahead, path)
    exact = max(
        similarity(calls, kept + more + suffix, min(map(sum, zip(row, rest, strict=True))))
        for more, row in enumerate(candidate_bodies(path, repairs))
    )
    return exact, exact
