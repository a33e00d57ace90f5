"""Goals: what must hold of the world's true state at the end of a task, as patterns by dotted key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core_eval.path.patterns import Exact, Pattern, parse_pattern

ABSENT = Exact(None)
"""As in an initial state, null means that the key is not there."""


@dataclass(frozen=True)
class Goal:
    """Patterns over the end state, all of which must match."""

    patterns: Mapping[str, Pattern]

    @classmethod
    def from_patterns(cls, written: Mapping[str, Any]) -> Goal:
        """Return a goal as a task file writes it.

        Raises:
            ValueError: a pattern is not one.
        """
        return cls({key: parse_pattern(value) for key, value in written.items()})

    def missed(self, state: Mapping[str, Any]) -> list[str]:
        """Return one line for each key that the state lacks or whose value does not match."""
        faults = []
        for key, pattern in self.patterns.items():
            found = list(_values(key, state))
            if not found and pattern != ABSENT:
                faults.append(f"{key}: the state has no such key")
            elif found and not pattern.holds(found[0]):
                faults.append(f"{key}: {found[0]!r} does not fit {pattern}")
        return faults


def _values(key: str, state: Any) -> Iterator[Any]:
    """The values that a dotted key may mean: keys of the state may hold dots themselves (`notes.txt`)."""
    if not isinstance(state, Mapping):
        return
    if key in state:
        yield state[key]
    parts = key.split(".")
    for count in range(1, len(parts)):
        yield from _values(".".join(parts[count:]), state.get(".".join(parts[:count])))
