"""The longest run of words that two texts share, however often words repeat in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class WordRuns:
    """All runs of a text's words: a suffix automaton (Blumer et al., Theoretical Computer Science 40, 1985).

    To build it takes time and space linear in the words.
    """

    def __init__(self, words: Sequence[str]) -> None:
        # A state is a set of runs that end at the same places: its longest run, the first place behind it,
        # and the state of the longest ones among its runs' ends that also end elsewhere.
        self._after: list[dict[str, int]] = [{}]
        self._size, self._end, self._shorter = [0], [0], [-1]
        last = 0
        for place, word in enumerate(words, 1):
            new = self._state({}, self._size[last] + 1, place)
            state = last
            while state >= 0 and word not in self._after[state]:
                self._after[state][word] = new
                state = self._shorter[state]
            if state >= 0:
                self._shorter[new] = self._own(state, word)
            last = new

    def _state(self, after: dict[str, int], size: int, end: int) -> int:
        self._after.append(after)
        self._size.append(size)
        self._end.append(end)
        self._shorter.append(0)
        return len(self._after) - 1

    def _own(self, state: int, word: str) -> int:
        """Return the state behind a word whose longest run is one longer; it is split off where needed."""
        found = self._after[state][word]
        size = self._size[state] + 1
        if self._size[found] == size:
            return found
        split = self._state(dict(self._after[found]), size, self._end[found])
        self._shorter[split], self._shorter[found] = self._shorter[found], split
        while state >= 0 and self._after[state].get(word) == found:
            self._after[state][word] = split
            state = self._shorter[state]
        return split

    def longest(self, others: Iterable[str]) -> tuple[int, int]:
        """Return place and size of the longest run of the words that the other words have too, the first one
        of several; in time linear in the others.
        """
        state = size = 0
        best = (0, 0)
        for word in others:
            while state and word not in self._after[state]:
                state = self._shorter[state]
                size = self._size[state]
            if word in self._after[state]:
                state = self._after[state][word]
                size += 1
                best = min(best, (-size, self._end[state] - size))
            else:
                size = 0
        return best[1], -best[0]
