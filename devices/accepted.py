"""What a rig accepts of a call and a goal allows: the tolerances of a plan that states none of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from core_eval.path.patterns import Near, Pattern, Range

Patterns: TypeAlias = Mapping[str, Pattern]
Accepts: TypeAlias = Callable[[Any, str, Mapping[str, float | str], Patterns], Patterns]
"""Returns patterns by argument for a call, given the world's state, the tool, the call's arguments, and the
goal by dotted key. Of a place the arguments are its coordinates. What it leaves out is exact; a `Range` with
the number that is meant (`near`) may be given in parts."""
AXES = ("x", "y", "z")
METERED = 0.01
"""Share to which a dose is as asked, where no goal bounds it."""


def within(reach: float) -> Accepts:
    """Return what accepts any place within a distance of the one meant, m."""
    return lambda _state, _tool, arguments, _goal: around(arguments, reach)


EXACTLY = within(0.0)
"""Accepts a place alone."""


def around(
    place: Mapping[str, Any],
    reach: float,
    goal: Patterns | None = None,
    *,
    key: str = "",
    margin: float = 0.0,
) -> Patterns:
    """Return the patterns of a place's coordinates, within a distance of it that no goal narrows.

    Args:
        place: its coordinates; other keys are ignored.
        reach: how far the rig may be from it, m.
        goal: patterns by dotted key, of which those of an axis narrow it (`pose.x`, where `key` is `pose`).
        key: of these patterns.
        margin: by how much the rig may end up beside what it was told, m.
    """
    found: dict[str, Pattern] = {}
    for axis in AXES:
        if axis in place:
            free = (side - margin for side in _room(goal or {}, key, axis, place[axis]))
            found[axis] = Near(place[axis], max(0.0, min(reach, *free, reach)), together=True)
    return found


def _room(goal: Patterns, key: str, axis: str, value: float) -> Iterator[float]:
    """Yield how far a value may be moved until a pattern of the goal that it fits is missed."""
    for name, pattern in goal.items():
        if name.startswith(f"{key}.") and name.endswith(f".{axis}") and isinstance(pattern, Near | Range):
            low, high = pattern.span
            if low <= value <= high:
                yield min(value - low, high - value)
