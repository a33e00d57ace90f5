"""The candidates of PC+HLR (CORE, section 4), aligned with a path all at once, round by round.

They are the paths through a separate automaton: along the condensed path, where a harmful token is deleted
or replaced by a self-loop of its state, then along the golden graph from the state at the end. For every
number of edits, the reachable (length of the candidate, position in the path) are the bits of one integer per
state of that automaton (Wu and Manber's bit-parallel alignment, with a second dimension).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core_eval.path.suffix_graph import SuffixGraph

STEP_WORK = 80
"""The cost of an edge in one round beyond its bits, in processed machine words."""


class Candidates:
    """The candidates of a path, ready to be aligned with it.

    In each round one more edit is allowed. A call with a token of its own costs exactly one edit in every
    alignment, so those are counted beforehand (`base`), and passing them is free. With `steps_free`, edits
    are instead counted beyond the candidate's length less the path's: leaving out a token of the candidate is
    free, replacing it costs one, leaving out a call two. That takes few rounds where the suffix is long.

    The bits of an integer separate candidates by their length, beyond that of the shortest one up to the
    same place: one for each harmful call that is replaced and not left out, and what the paths of the suffix
    differ by. With `by_length` false they do not, and take as many times less.

    Attributes:
        lowest, highest: the lengths of the shortest and the longest candidate.
        replaceable: how many harmful calls a self-loop can replace.
        words: size of the integers of all states, in machine words.
        work: machine words processed so far.
    """

    def __init__(
        self,
        path: Sequence[int],
        repairs: Sequence[tuple[int, ...] | None],
        suffixes: SuffixGraph,
        *,
        steps_free: bool,
        by_length: bool = True,
    ) -> None:
        self.path, self.repairs, self.suffixes = path, repairs, suffixes
        self.steps_free, self.by_length = steps_free, by_length
        self.calls = len(path)
        self.replaceable = sum(bool(repair) for repair in repairs)
        self.kept = repairs.count(None)
        self.lowest = self.kept + suffixes.shortest
        self.highest = self.kept + self.replaceable + suffixes.longest
        self.base = 0 if steps_free else sum(token < 0 for token in path)
        self._blocks = self.replaceable + suffixes.spread + 1 if by_length else 1
        states = self.calls + len(suffixes.edges)
        self.words = (3 if steps_free else 2) * states * ((self.calls + 2) * self._blocks // 64 + 1)
        self.work = 0

    def edits(self, length: int, extra: int) -> int:
        """Return the edits between the path and a candidate of that length in the round of that number."""
        return self.base + extra + (length - self.calls if self.steps_free else 0)

    def rounds(self) -> Iterator[list[int]]:
        """Yield the lengths of candidates that are reached, round by round (some of them once more).

        Of those that end in the same state and round, the shortest and the longest. Where `by_length` is
        false, each is yielded as the shortest one.
        """
        calls, free = self.calls, self.steps_free
        width, across = calls + 2, (calls + 2) if self.by_length else 0
        ones = repeated(1, width, self._blocks)
        valid, ends = ones * ((2 << calls) - 1), ones << calls
        own = 0 if free else ones * sum(1 << place for place, token in enumerate(self.path) if token < 0)
        chain, tails = self._matches(ones, own, across)
        steps = calls + self.replaceable + sum(map(len, tails))
        before, tails_before = [0] * (calls + 1), [0] * len(tails)
        # A deleted call that costs two rounds comes from the row before the last one.
        skipped, tails_skipped = before, tails_before
        while True:
            size = 0
            bits = ((skipped if free else before)[0] << 1 | 1) & valid
            bits |= ((bits & own) + own) ^ own
            now = [bits]
            for place, (harmful, match) in enumerate(chain):
                on = (skipped if free else before)[place + 1] << 1
                if harmful:
                    on |= bits
                if match >= 0:
                    old = before[place]
                    other = (bits & match | old) << 1 | (bits if free else old)
                    on |= other << across if harmful else other
                bits = on & valid
                bits |= ((bits & own) + own) ^ own
                now.append(bits)
                size += bits.bit_length()
            tails_now = [0] * len(tails)
            tails_now[0] = bits
            lengths: list[int] = []
            for node, out in enumerate(tails):
                old = tails_before[node]
                bits = (tails_now[node] | (tails_skipped[node] if free else old) << 1) & valid
                bits |= ((bits & own) + own) ^ own
                tails_now[node] = bits
                if not bits:
                    continue
                size += bits.bit_length() * len(out)
                reached = bits & ends
                if reached and self.suffixes.accepting[node]:
                    least = self.kept + self.suffixes.least[node]
                    lengths.append(least + ((reached & -reached).bit_length() - 1) // width)
                    lengths.append(least + (reached.bit_length() - 1) // width)
                other = old << 1 | (bits if free else old)
                for match, shift, target in out:
                    tails_now[target] |= ((bits & match) << 1 | other) << shift
            self.work += steps * STEP_WORK + size // 64
            yield lengths
            if free:
                skipped, tails_skipped = before, tails_before
            before, tails_before = now, tails_now

    def _matches(
        self, ones: int, own: int, across: int
    ) -> tuple[list[tuple[bool, int]], list[list[tuple[int, int, int]]]]:
        """Return the matching positions of every call and of every edge of the suffixes.

        For a call whether it is harmful, and -1 where no self-loop can replace it; for an edge also by how
        many bits it moves on, and its target.
        """
        fits: dict[int, int] = {}
        for place, token in enumerate(self.path):
            if token >= 0:
                fits[token] = fits.get(token, own) | ones << place
        replaced: dict[tuple[int, ...], int] = {(): -1}
        for repair in self.repairs:
            if repair is not None and repair not in replaced:
                replaced[repair] = own
                for legal in repair:
                    replaced[repair] |= fits.get(legal, 0)
        chain = [
            (False, fits[token]) if repair is None else (True, replaced[repair])
            for token, repair in zip(self.path, self.repairs, strict=True)
        ]
        least = self.suffixes.least
        tails = [
            [
                (fits.get(token, own), (least[node] + 1 - least[target]) * across, target)
                for token, target in out
            ]
            for node, out in enumerate(self.suffixes.edges)
        ]
        return chain, tails


def repeated(bits: int, width: int, times: int) -> int:
    """Return `bits` repeated `times` times, `width` bits apart."""
    return bits * (((1 << width * times) - 1) // ((1 << width) - 1))
