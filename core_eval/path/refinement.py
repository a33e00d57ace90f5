"""PC+HLR, the harm-local refinement (CORE, section 4), aligned with all candidates at once.

The candidates are the ways through an automaton of their own: along the condensed path, where a harmful
token is left out or replaced by a self-loop of its state, then along the golden graph from the state at
the end. For every number of edits, the reachable (length of the candidate, position in the path) are the
bits of one integer per state of that automaton (Wu and Manber's bit-parallel alignment, with a second
dimension).
"""

from __future__ import annotations

from collections.abc import Sequence

from core_eval.path.bits import repeated
from core_eval.path.metrics import similarity
from core_eval.path.suffixes import Suffixes

WORK = 200_000_000
"""Beyond about this many machine words of bits (a second or two) PC+HLR is given as bounds."""


def refine(
    path: Sequence[int], repairs: Sequence[tuple[int, ...] | None], suffixes: Suffixes
) -> tuple[float, float]:
    """Give a lower and an upper bound, equal where it is exact, of the greatest `1 - NLD` of any candidate.

    `repairs` holds None for a progress call, and for a harmful one the tokens of the self-loops that were
    legal. It is exact unless the work would pass WORK.
    """
    calls = len(path)
    harmful = calls - repairs.count(None)
    if not harmful:
        exact = similarity(calls, calls + suffixes.shortest, suffixes.shortest)
        return exact, exact
    low, high = _quick_bounds(path, repairs, suffixes, harmful)
    if low >= high:
        return low, low
    bits = (calls + suffixes.longest) * calls
    if harmful * (calls + len(suffixes.edges)) * (bits // 64 + 16) > WORK:
        return low, high
    exact = _align(path, repairs, suffixes, low)
    return exact, exact


def _quick_bounds(
    path: Sequence[int], repairs: Sequence[tuple[int, ...] | None], suffixes: Suffixes, harmful: int
) -> tuple[float, float]:
    """Bound the result from below by one good candidate, and from above by what cannot be matched at all.

    The candidate repairs every harmful call in place, and lets the shortest suffix take the places of the
    harmful calls at the end. The upper bound splits the path in two, one part for the body of a candidate and
    one for its suffix; a part costs at least the tokens that find no partner there.
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
        if cost < 0:
            cost = 0
        if alone_in_body + cost < least:
            least = alone_in_body + cost
    alone = max(alone, alone_in_body - longest)
    least = max(least, alone)
    lowest, highest = calls - harmful + shortest, calls - lost + longest
    near = max(lowest, min(highest, calls + least - alone))
    return low, similarity(calls, near, max(least, near - calls + alone))


def _align(
    path: Sequence[int], repairs: Sequence[tuple[int, ...] | None], suffixes: Suffixes, best: float
) -> float:
    """Raise `best` round by round; in each round one more edit is allowed.

    A call with a token of its own costs exactly one edit in every alignment, so those are counted
    beforehand and passing them is free.
    """
    calls = len(path)
    longest = calls - repairs.count(()) + suffixes.longest
    width, blocks = calls + 2, longest + 1
    ones = repeated(1, width, blocks)
    valid, ends = ones * ((2 << calls) - 1), ones << calls
    own = ones * sum(1 << place for place, token in enumerate(path) if token < 0)
    fits: dict[int, int] = {}
    for place, token in enumerate(path):
        if token >= 0:
            fits[token] = fits.get(token, own) | ones << place
    chain: list[tuple[bool, int]] = []
    for token, repair in zip(path, repairs, strict=True):
        if repair is None:
            chain.append((False, fits[token]))
        else:
            match = own if repair else -1
            for legal in repair:
                match |= fits.get(legal, 0)
            chain.append((True, match))
    tails = [[(fits.get(token, own), target) for token, target in out] for out in suffixes.edges]
    base = sum(token < 0 for token in path)
    before = [0] * (calls + 1)
    tails_before = [0] * len(tails)
    seen = extra = 0
    while True:
        bits = (before[0] << 1 | 1) & valid
        bits |= ((bits & own) + own) ^ own
        now = [bits]
        for place, (harmful, match) in enumerate(chain):
            on = before[place + 1] << 1
            if harmful:
                on |= bits
            if match >= 0:
                other = before[place] << width
                on |= (bits & match) << (width + 1) | other << 1 | other
            bits = on & valid
            bits |= ((bits & own) + own) ^ own
            now.append(bits)
        tails_now = [0] * len(tails)
        tails_now[0] = bits
        reached = 0
        for node, out in enumerate(tails):
            old = tails_before[node]
            bits = (tails_now[node] | old << 1) & valid
            bits |= ((bits & own) + own) ^ own
            tails_now[node] = bits
            if not bits:
                continue
            if suffixes.accepting[node]:
                reached |= bits
            other = old << (width + 1) | old << width
            for match, target in out:
                tails_now[target] |= (bits & match) << (width + 1) | other
        fresh = reached & ends & ~seen
        if fresh:
            seen |= fresh
            best = max(best, similarity(calls, (fresh.bit_length() - 1) // width, base + extra))
        extra += 1
        if similarity(calls, min(longest, calls + extra), base + extra) <= best:
            return best
        before, tails_before = now, tails_now
