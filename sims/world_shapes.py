"""Places, obstacles and the machine of a world's state as plain shapes; knows no world by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Shape:
    """One thing in a world; m and rad.

    Attributes:
        section, name: where the state has it.
        x, y: its centre, seen from above.
        width, depth: along x and y before it is turned by `yaw`; both 0 for a mere place.
        round: whether it is a circle, of diameter `width`.
        z: of its base, or of a mere place.
        height: 0 where the state gives none.
        place: whether the section holds places that calls name.
    """

    section: str
    name: str
    x: float
    y: float
    width: float = 0.0
    depth: float = 0.0
    yaw: float = 0.0
    round: bool = False
    z: float = 0.0
    height: float = 0.0
    place: bool = False


def shapes_of(state: Mapping[str, Any], place_keys: Sequence[str]) -> Iterator[Shape]:
    """Yield the shapes of a state, in its order; `place_keys` are the sections of places."""
    for section, members in state.items():
        if not isinstance(members, Mapping):
            continue
        for name, where in members.items():
            if isinstance(where, Mapping):
                yield from _shape(str(section), str(name), where, section in place_keys)


def _shape(section: str, name: str, where: Mapping[str, Any], place: bool) -> Iterator[Shape]:
    z = where["z"] if has_numbers(where, "z") else 0.0
    if has_numbers(where, "x_min", "x_max", "y_min", "y_max"):
        width, depth = where["x_max"] - where["x_min"], where["y_max"] - where["y_min"]
        x, y = where["x_min"] + width / 2, where["y_min"] + depth / 2
        yield Shape(section, name, x, y, width, depth, z=z, place=place)
    elif has_numbers(where, "x", "y"):
        x, y = where["x"], where["y"]
        size = where.get("size")
        yaw = where["yaw"] if has_numbers(where, "yaw") else 0.0
        if has_numbers(where, "radius"):
            width = 2 * where["radius"]
            yield Shape(section, name, x, y, width, width, round=True, z=z, place=place)
        elif (
            isinstance(size, Sequence)
            and len(size) > 1
            and all(isinstance(side, int | float) for side in size)
        ):
            height = size[2] if len(size) > 2 else 0.0
            cylinder = where.get("shape") == "cylinder"
            yield Shape(section, name, x, y, size[0], size[1], yaw, cylinder, z, height, place)
        elif place:
            yield Shape(section, name, x, y, z=z, place=place)


def pose_of(state: Mapping[str, Any]) -> dict[str, float] | None:
    """Return the machine's `x`, `y`, `z` and `yaw` in a state, 0 where it has none; None without x and y."""
    found = state.get("pose")
    if not isinstance(found, Mapping) or not has_numbers(found, "x", "y"):
        return None
    return {name: float(found[name]) if has_numbers(found, name) else 0.0 for name in ("x", "y", "z", "yaw")}


def has_numbers(values: Mapping[str, Any], *names: str) -> bool:
    """Return whether all of these keys hold numbers."""
    return all(
        isinstance(values.get(name), int | float) and not isinstance(values.get(name), bool) for name in names
    )
