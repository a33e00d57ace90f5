"""Plans of stages: the symbols of a stage in any order, one stage after the other.

A stage of k symbols has 2**k states, so they are not listed: a state is computed when it is asked for. The
symbols of one stage alone may also be optional: then every state is accepting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice, product
from math import prod
from typing import Any, TypeVar, overload

V = TypeVar("V")


class Stages:
    """The states and edges of a plan of stages.

    A state is named by its stage and, in hexadecimal, the symbols of it that are done as bits. Of equal
    symbols the first ones are done first, so that each state has one name.

    Attributes:
        stages: the symbols of each stage; one may stand in it several times.
        free: the symbols that are self-loops wherever they are no progress.
        optional: whether any of the symbols may be left out; then there is one stage.
        start, end: the first state, and the one in which all is done.
    """

    def __init__(
        self, stages: Iterable[Sequence[str]], free: Iterable[str], *, optional: bool = False
    ) -> None:
        self.stages = tuple(tuple(stage) for stage in stages if stage)
        self.free = tuple(free)
        self._free = frozenset(self.free)
        self.optional = optional
        if optional and len(self.stages) != 1:
            raise ValueError("optional symbols are one stage")
        self.start, self.end = self._name(0, 0), self._name(len(self.stages), 0)

    @staticmethod
    def _name(stage: int, done: int) -> str:
        return f"s{stage}.{done:x}"

    @property
    def accepting(self) -> Set[str]:
        """The accepting states, in a set that computes them."""
        return _AllStates(self) if self.optional else frozenset((self.end,))

    @property
    def length(self) -> int:
        """The number of steps of every golden path; of the longest, where steps are optional."""
        return sum(map(len, self.stages))

    def may_follow(self, second: str, first: str) -> bool:
        """Return whether a golden path has one symbol somewhere after another."""
        places = {
            symbol: [n for n, stage in enumerate(self.stages) for s in stage if s == symbol]
            for symbol in (first, second)
        }
        if first == second:
            return len(places[first]) > 1
        return bool(places[first] and places[second]) and min(places[first]) <= max(places[second])

    def place(self, state: str) -> tuple[int, int]:
        """Return a state's stage, and what of it is done, as bits.

        Raises:
            KeyError: there is no such state.
        """
        stage, _, done = state.removeprefix("s").partition(".")
        try:
            found = int(stage), int(done, 16)
        except ValueError:
            raise KeyError(state) from None
        if self._name(*found) != state or found[0] > len(self.stages):
            raise KeyError(state)
        return found

    def left(self, state: str) -> list[str]:
        """Return the symbols of a state's stage that are not done."""
        stage, done = self.place(state)
        own = self.stages[stage] if stage < len(self.stages) else ()
        return [symbol for bit, symbol in enumerate(own) if not done >> bit & 1]

    def after(self, state: str, symbol: str) -> str | None:
        """Return the state after a symbol; None where it is undefined."""
        stage, done = self.place(state)
        own = self.stages[stage] if stage < len(self.stages) else ()
        for bit, other in enumerate(own):
            if other == symbol and not done >> bit & 1:
                done |= 1 << bit
                return self._name(stage + 1, 0) if done + 1 == 1 << len(own) else self._name(stage, done)
        return state if symbol in self._free else None

    @property
    def states(self) -> Sequence[str]:
        """All states, in a sequence that computes them."""
        return _States(self)

    @property
    def delta(self) -> Mapping[tuple[str, str], str]:
        """All edges, self-loops too, in a mapping that computes them."""
        return _Edges(self)

    @property
    def progress(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """For every state its progress edges `(symbol, target)`."""
        return _ByState(self, self._progress)

    @property
    def loops(self) -> Mapping[str, tuple[str, ...]]:
        """For every state the symbols that are self-loops there."""
        return _ByState(self, self._loops)

    def _progress(self, state: str) -> tuple[tuple[str, str], ...]:
        left = dict.fromkeys(self.left(state))
        return tuple((symbol, target) for symbol in left if (target := self.after(state, symbol)) is not None)

    def _loops(self, state: str) -> tuple[str, ...]:
        left = set(self.left(state))
        return tuple(symbol for symbol in self.free if symbol not in left)

    def count(self) -> int:
        """Return how many states there are."""
        return 1 + sum(prod(times + 1 for times in Counter(stage).values()) - 1 for stage in self.stages)

    def all(self) -> Iterator[str]:
        """Yield the states, stage by stage."""
        for number, stage in enumerate(self.stages):
            places: dict[str, list[int]] = {}
            for bit, symbol in enumerate(stage):
                places.setdefault(symbol, []).append(bit)
            for counts in product(*(range(len(bits) + 1) for bits in places.values())):
                done = sum(
                    1 << bit
                    for bits, count in zip(places.values(), counts, strict=True)
                    for bit in bits[:count]
                )
                if done + 1 != 1 << len(stage):
                    yield self._name(number, done)
        yield self.end


class _States(Sequence[str]):
    def __init__(self, stages: Stages) -> None:
        self._stages = stages

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return list(self)[place]
        found = next(islice(self._stages.all(), place % len(self), None), None)
        if found is None or not -len(self) <= place < len(self):
            raise IndexError(place)
        return found

    def __iter__(self) -> Iterator[str]:
        return self._stages.all()

    def __len__(self) -> int:
        return self._stages.count()


class _AllStates(Set[str]):
    def __init__(self, stages: Stages) -> None:
        self._stages = stages

    @classmethod
    def _from_iterable(cls, states: Iterable[Any]) -> Set[Any]:
        return frozenset(states)

    def __contains__(self, state: object) -> bool:
        try:
            self._stages.place(str(state))
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        return self._stages.all()

    def __len__(self) -> int:
        return self._stages.count()


class _ByState(Mapping[str, V]):
    def __init__(self, stages: Stages, compute: Callable[[str], V]) -> None:
        self._stages, self._compute = stages, compute

    def __getitem__(self, state: str) -> V:
        return self._compute(state)

    def __iter__(self) -> Iterator[str]:
        return self._stages.all()

    def __len__(self) -> int:
        return self._stages.count()


class _Edges(Mapping[tuple[str, str], str]):
    def __init__(self, stages: Stages) -> None:
        self._stages = stages

    def __getitem__(self, edge: tuple[str, str]) -> str:
        found = self._stages.after(*edge)
        if found is None:
            raise KeyError(edge)
        return found

    def get(self, edge: tuple[str, str], default: Any = None) -> Any:
        """Return the target of an edge; `default` where there is none."""
        found = self._stages.after(*edge)
        return default if found is None else found

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for state in self._stages.all():
            for symbol, _ in self._stages.progress[state]:
                yield state, symbol
            for symbol in self._stages.loops[state]:
                yield state, symbol

    def __len__(self) -> int:
        return sum(1 for _ in self)
