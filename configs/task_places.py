"""`at: NAME` in a plan: the coordinates of a named place, so that a task does not write them out again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

AXES = ("x", "y", "z")


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


def expand_places(plan: Any, known: Mapping[str, Mapping[str, float]], reach: float) -> Any:
    """Return the plan with patterns of x, y, z and yaw for each `{at: NAME}` (and an optional `within`, in
    m).

    Raises:
        UnknownPlaceError: naming the place.
    """
    if isinstance(plan, Mapping):
        if "at" in plan:
            return _patterns(plan, known, reach)
        return {key: expand_places(value, known, reach) for key, value in plan.items()}
    if isinstance(plan, Sequence) and not isinstance(plan, str):
        return [expand_places(step, known, reach) for step in plan]
    return plan


def _patterns(
    arguments: Mapping[str, Any], known: Mapping[str, Mapping[str, float]], reach: float
) -> dict[str, Any]:
    rest = {key: value for key, value in arguments.items() if key not in ("at", "within")}
    place = known.get(arguments["at"])
    if place is None:
        raise UnknownPlaceError(str(arguments["at"]))
    within = arguments.get("within", reach)
    near = {axis: {"near": place[axis], "abs": within} for axis in AXES if axis in place}
    return {**near, "yaw": {"any": True}, **rest}
