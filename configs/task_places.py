"""A plan's calls as its world takes them: coordinates for `at: NAME`, tolerances of places and doses.

The world tells what its rig accepts and the goal allows (`devices.accepted`). A plan that states a pattern
keeps it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from core_eval.path.patterns import Near, Range
from core_eval.text.values import is_number
from devices.accepted import AXES, METERED, Patterns, around

Places: TypeAlias = Mapping[str, Mapping[str, float]]
AcceptsCall: TypeAlias = Callable[[str, Mapping[str, Any]], Patterns]
"""The patterns by argument that a world gives a call of a tool with these arguments."""
MOST_STEPS, MOST_IN_ALL = 36, 48
"""Maximum steps in which a dose's range is told apart, and all doses up to its largest one."""


class UnknownPlaceError(Exception):
    """A plan names a place that the world does not have; `name` is the place."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no place {name!r}")
        self.name = name


def places(state: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Mapping[str, float]]:
    """Return every named place of a world's state; `keys` are the state's keys that hold places."""
    found: dict[str, Mapping[str, float]] = {}
    for key in keys:
        found.update(state.get(key, {}))
    return found


def expand_plan(plan: Any, known: Places, accepts: AcceptsCall) -> Any:
    """Return the plan with patterns for each place (`at`, with an optional `within` in m) and each dose.

    A place is a name, or its coordinates. A dose may be given in two parts, where the goal leaves room for
    telling them apart, and the plan gives that dose once.

    Raises:
        UnknownPlaceError: naming the place.
    """
    return _Expansion(known, accepts, Counter(_doses(plan))).of(plan)


def _doses(plan: Any) -> Iterator[str]:
    """Yield the calls of a plan that have a number: of two on one plant, the goal bounds the sum alone."""
    if isinstance(plan, Mapping):
        for key, inner in plan.items():
            if isinstance(inner, Mapping) and any(map(is_number, inner.values())):
                yield _dosed(str(key), inner)
            yield from _doses(inner)
    elif isinstance(plan, list | tuple):
        for step in plan:
            yield from _doses(step)


def _dosed(tool: str, arguments: Mapping[str, Any]) -> str:
    return f"{tool} {sorted((k, v) for k, v in arguments.items() if isinstance(v, str))}"


class _Expansion:
    def __init__(self, known: Places, accepts: AcceptsCall, doses: Mapping[str, int]) -> None:
        self._known, self._accepts, self._doses = known, accepts, doses

    def of(self, plan: Any) -> Any:
        if isinstance(plan, Mapping):
            if len(plan) == 1:
                ((tool, inner),) = plan.items()
                if isinstance(inner, Mapping):
                    return self._call(str(tool), inner)
            return self.arguments(plan)
        if isinstance(plan, Sequence) and not isinstance(plan, str):
            return [self.of(step) for step in plan]
        return plan

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        if "at" in arguments:
            return {tool: self._placed(tool, arguments)}
        plain = {name: value for name, value in arguments.items() if isinstance(value, str | int | float)}
        doses = self._accepts(tool, plain) if any(map(is_number, plain.values())) else {}
        doses = {name: pattern for name, pattern in doses.items() if name in plain and name not in AXES}
        if self._doses[_dosed(tool, arguments)] > 1:
            doses = {name: Near(arguments[name], METERED, relative=True) for name in doses}
        written = {**self.arguments(arguments), **{name: dose.plain() for name, dose in doses.items()}}
        for name, dose in doses.items():
            if isinstance(dose, Range) and dose.near is not None:
                return _in_parts(tool, written, name, dose)
        return {tool: written}

    def arguments(self, written: Mapping[str, Any]) -> dict[str, Any]:
        """Return what stands below a step's word or tool, with the steps in it."""
        return {key: self.of(value) for key, value in written.items()}

    def _placed(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        rest = {key: value for key, value in arguments.items() if key not in ("at", "within")}
        at = arguments["at"]
        place = at if isinstance(at, Mapping) else self._known.get(at)
        if place is None:
            raise UnknownPlaceError(str(at))
        place = {axis: place[axis] for axis in AXES if axis in place}
        own = arguments.get("within")
        near = self._accepts(tool, place) if own is None else around(place, own)
        return {**{name: one.plain() for name, one in near.items()}, "yaw": {"any": True}, **rest}


def _in_parts(tool: str, arguments: Mapping[str, Any], name: str, dose: Range) -> Any:
    """Return the choice of a dose within its range, at once or in two parts.

    Doses are told apart in steps, of which two parts whose sum is certainly in the range make the dose. The
    steps are so narrow that all parts of the dose that is meant do. Twice that dose is never meant.
    """
    assert dose.low is not None and dose.high is not None and dose.near is not None
    low, high, meant = dose.low, dose.high, dose.near
    room = min(meant - low, high - meant) / 2.0
    count = MOST_STEPS if room <= 0 else min(MOST_STEPS, math.ceil((high - low) / room))
    width = (high - low) / count
    first = -math.ceil(low / width) if width else 0
    if not width or count - first > MOST_IN_ALL:
        return {tool: {**arguments, name: dose.plain()}}
    edges = [max(0.0, low + k * width) for k in range(first, count)] + [high]

    def step(k: int) -> dict[str, Any]:
        below, above = edges[k - first], edges[k - first + 1]
        top = above if k == count - 1 else math.nextafter(above, below)
        own = {"near": meant} if below <= meant <= top else {"part": True}
        return {tool: {**arguments, name: {"min": below, "max": top, **own}}}

    whole = sorted(range(count), key=lambda k: not edges[k - first] <= meant < edges[k - first + 1])
    pairs = (
        [step(one), step(other)]
        for one in range(first, count)
        for other in range(first, count)
        if (one, other) != (whole[0], whole[0])
        and edges[one - first] + edges[other - first] >= low
        and edges[one - first + 1] + edges[other - first + 1] <= high
    )
    return {"choice": [*(step(k) for k in whole), *pairs]}
