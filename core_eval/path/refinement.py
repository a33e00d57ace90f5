"""PC+HLR, the harm-local refinement (CORE, section 4): exact, or bounds where that would cost too much."""

from __future__ import annotations

from collections.abc import Sequence

from core_eval.path.candidates import Candidates
from core_eval.path.metrics import similarity
from core_eval.path.suffix_graph import SuffixGraph

WORK = 400_000_000
"""After about this many processed machine words (about two seconds) PC+HLR is given as bounds."""
KEPT_WORDS = 8_000_000
"""Maximum size of the bits in memory, in machine words."""


def refine(
    path: Sequence[int], repairs: Sequence[tuple[int, ...] | None], suffixes: SuffixGraph
) -> tuple[float, float]:
    """Return a lower and an upper bound, equal where it is exact, of the greatest `1 - NLD` of any candidate.

    `repairs` holds None for a progress call, and for a harmful one the tokens of the self-loops that were
    legal. It is exact unless WORK or KEPT_WORDS is used up before.
    """
    calls = len(path)
    harmful = calls - repairs.count(None)
    if not harmful:
        exact = similarity(calls, calls + suffixes.shortest, suffixes.shortest)
        return exact, exact
    low, high = _quick_bounds(path, repairs, suffixes, harmful)
    if low >= high:
        return low, low
    steps_free = suffixes.shortest > harmful
    found = Candidates(path, repairs, suffixes, steps_free=steps_free)
    # No alignment costs more than the longer of the two.
    near = max(found.lowest, min(len(path), found.lowest + found.replaceable))
    low = max(low, similarity(calls, near, max(calls, near)))
    if found.words <= KEPT_WORDS:
        low, bound = _search(found, low)
        high = max(low, min(high, bound))
    if low < high:
        rough = Candidates(path, repairs, suffixes, steps_free=steps_free, by_length=False)
        if rough.words <= KEPT_WORDS:
            least, most = _rough_search(rough)
            low = max(low, least)
            high = max(low, min(high, most))
    return low, high


def _quick_bounds(
    path: Sequence[int], repairs: Sequence[tuple[int, ...] | None], suffixes: SuffixGraph, harmful: int
) -> tuple[float, float]:
    """Bound the result from below by one good candidate, and from above by the unmatchable tokens.

    The candidate repairs every harmful call in place, and lets the shortest suffix take the places of the
    harmful calls at the end. The upper bound splits the path in two, one part for the body of a candidate and
    one for its suffix; a part costs at least its tokens without a partner.
    """
    calls, shortest, longest = len(path), suffixes.shortest, suffixes.longest
    legal: set[int] = set()
    left: dict[int, int] = {}
    lost = run = 0
    for token, repair in zip(path, repairs, strict=True):
        if repair is None:
            left[token] = left.get(token, 0) + 1
            run = 0
        else:
            run += 1
            if repair:
                legal.update(repair)
            else:
                lost += 1
    tail = max(run, shortest)
    ends_without_loop = run and not repairs[-1]
    body = calls - run - (lost - run if ends_without_loop else lost)
    length = body + (shortest if ends_without_loop else tail)
    low = similarity(calls, length, harmful - run + tail)

    ahead = suffixes.tokens
    to_come = sum(token in ahead for token in path)
    alone_in_body = alone = 0
    least = max(calls, shortest) - min(to_come, longest)
    for place, token in enumerate(path, 1):
        expected = token in ahead
        to_come -= expected
        if token not in legal:
            partners = left.get(token, 0)
            if partners:
                left[token] = partners - 1
            else:
                alone_in_body += 1
                alone += not expected
        cost = max(calls - place, shortest) - (to_come if to_come < longest else longest)
        if alone_in_body + cost < least:
            least = alone_in_body + cost
    alone = max(alone, alone_in_body - longest)
    least = max(least, alone)
    lowest, highest = calls - harmful + shortest, calls - lost + longest
    near = max(lowest, min(highest, calls + least - alone))
    return low, similarity(calls, near, max(least, near - calls + alone))


def _search(found: Candidates, best: float) -> tuple[float, float]:
    """Raise `best` round by round, and return it with an upper bound."""
    for extra, lengths in enumerate(found.rounds(), 1):
        for length in lengths:
            # For one number of edits the similarity rises or falls with the length throughout, so that the
            # shortest and the longest one are enough.
            edits = found.edits(length, extra - 1)
            best = max(best, similarity(found.calls, length, edits))
        if _bound(found, extra) <= best:
            return best, best
        if found.work >= WORK:
            break
    return best, _bound(found, extra)


def _rough_search(found: Candidates) -> tuple[float, float]:
    """Bound the result by the least edits to any candidate, whatever its length."""
    for extra, lengths in enumerate(found.rounds()):
        if lengths:
            calls, edits = found.calls, found.edits(0, extra)
            if found.steps_free:
                ends = max(found.lowest, calls - extra // 2), found.highest
            else:
                ends = max(found.lowest, calls - edits), min(found.highest, calls + extra)
            low = min(similarity(calls, length, found.edits(length, extra)) for length in ends)
            return low, _bound(found, extra)
        if found.work >= WORK:
            break
    return 0.0, _bound(found, extra + 1)


def _bound(found: Candidates, extra: int) -> float:
    """Bound the candidates that are not reached before round `extra`."""
    calls, lowest, highest = found.calls, found.lowest, found.highest
    if not found.steps_free:
        return similarity(calls, min(highest, calls + extra), found.base + extra)
    turn = calls - extra // 2
    lengths = {max(lowest, min(highest, length)) for length in (turn, turn - 1, lowest, highest)}
    return max(similarity(calls, n, max(abs(n - calls), found.edits(n, extra))) for n in lengths)
