"""Goals: what must hold of the world's true state at the end of a task, as patterns by dotted key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core_eval.path import Pattern
from core_eval.path.patterns import parse_pattern


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
            value: Any = state
            for part in key.split("."):
                if not isinstance(value, Mapping) or part not in value:
                    faults.append(f"{key}: the state has no such key")
                    break
                value = value[part]
            else:
                if not pattern.holds(value):
                    faults.append(f"{key}: {value!r} does not fit {pattern}")
        return faults
