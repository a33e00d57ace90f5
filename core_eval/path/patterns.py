"""The patterns with which a symbol constrains one argument.

CORE's JSON knows the first three (exact value, excluded values, anything); the others are this
project's own task files'.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

from core_eval.text.values import is_number, same_value


@dataclass(frozen=True)
class Exact:
    """The argument equals `value`."""

    value: Any
    may_be_missing: ClassVar[bool] = False

    def holds(self, value: Any) -> bool:
        """Return whether a given argument fits."""
        mine = self.value
        if type(mine) is str:
            return bool(mine == value)
        return same_value(mine, value)

    def example(self) -> Any:
        """Return a value that fits."""
        return self.value

    def plain(self) -> dict[str, Any]:
        """Return the pattern as it is written in a plan."""
        return {"exact": self.value}

    def __str__(self) -> str:
        return f"={_short(self.value)}"


@dataclass(frozen=True)
class Excluded:
    """The argument is there and equals none of `values`."""

    values: tuple[Any, ...]
    may_be_missing: ClassVar[bool] = False

    def holds(self, value: Any) -> bool:
        """Return whether a given argument fits."""
        return not any(same_value(value, other) for other in self.values)

    def example(self) -> Any:
        """Return a value that fits, of the same type as the first excluded one."""
        first = self.values[0] if self.values else 0
        if is_number(first):
            return max(value for value in (*self.values, 0) if is_number(value)) + 1
        candidate = f"not {first}"
        while not self.holds(candidate):
            candidate = f"not {candidate}"
        return candidate

    def plain(self) -> dict[str, Any]:
        """Return the pattern as it is written in a plan."""
        return {"not": list(self.values)}

    def __str__(self) -> str:
        return "!=" + "|".join(map(_short, self.values))


@dataclass(frozen=True)
class Anything:
    """The argument may be anything, or missing; where an example is given, it must be there."""

    such_as: Any = None

    @property
    def may_be_missing(self) -> bool:
        """Whether a call without the argument fits."""
        return self.such_as is None

    def holds(self, value: Any) -> bool:
        """Return True: any argument fits."""
        return True

    def example(self) -> Any:
        """Return a value that fits."""
        return self.such_as

    def plain(self) -> dict[str, Any]:
        """Return the pattern as it is written in a plan."""
        return {"any": True} if self.such_as is None else {"any": True, "such_as": self.such_as}

    def __str__(self) -> str:
        return "=*"


@dataclass(frozen=True)
class Near:
    """The argument is a number within a tolerance of `value`, absolute or relative to it.

    Those of a symbol that hold `together` bound one distance: the squares of their deviations, each as a
    share of its tolerance, sum to 1 at most. Equal tolerances make a disc or a ball.
    """

    value: float
    tolerance: float
    relative: bool = False
    together: bool = False
    may_be_missing: ClassVar[bool] = False

    @cached_property
    def span(self) -> tuple[float, float]:
        """The lowest and the highest number that fit, as decimals: 0.7 is within 0.1 of 0.8."""
        width = self.tolerance * abs(self.value) if self.relative else self.tolerance
        low, high = self.value - width, self.value + width
        # Integers are exact already, also those beyond all digits of a float.
        if isinstance(low, int) or not math.isfinite(width):
            return low, high
        value, tolerance = Decimal(str(self.value)), Decimal(str(self.tolerance))
        exact = tolerance * abs(value) if self.relative else tolerance
        return float(value - exact), float(value + exact)

    def holds(self, value: Any) -> bool:
        """Return whether a given argument fits."""
        low, high = self.span
        return is_number(value) and low <= value <= high

    def example(self) -> Any:
        """Return a value that fits: the centre."""
        return self.value

    def plain(self) -> dict[str, Any]:
        """Return the pattern as it is written in a plan."""
        written = {"near": self.value, "rel" if self.relative else "abs": self.tolerance}
        return {**written, "together": True} if self.together else written

    def share(self, value: float) -> float:
        """Return a number's deviation as a share of the tolerance."""
        width = self.span[1] - self.value
        return abs(value - self.value) / width if width else 0.0

    def __str__(self) -> str:
        return f"~{_short(self.value)}"


@dataclass(frozen=True)
class Range:
    """The argument is a number from `low` to `high`, both included; None leaves a side open.

    Attributes:
        near: the number that is meant; None: the middle.
        part: whether it is a part of a dose, or another dose than the one meant.
    """

    low: float | None
    high: float | None
    near: float | None = None
    part: bool = False
    may_be_missing: ClassVar[bool] = False

    @cached_property
    def span(self) -> tuple[float, float]:
        """The lowest and the highest number that fit."""
        low = float("-inf") if self.low is None else self.low
        return low, float("inf") if self.high is None else self.high

    def holds(self, value: Any) -> bool:
        """Return whether a given argument fits."""
        low, high = self.span
        return is_number(value) and low <= value <= high

    def example(self) -> Any:
        """Return a value that fits: the one meant, the centre, or the end that is given."""
        if self.near is not None:
            return self.near
        if self.low is not None and self.high is not None:
            return (self.low + self.high) / 2
        return self.high if self.low is None else self.low

    def plain(self) -> dict[str, Any]:
        """Return the pattern as it is written in a plan."""
        sides = {"min": self.low, "max": self.high, "near": self.near}
        written = {side: limit for side, limit in sides.items() if limit is not None}
        return {**written, "part": True} if self.part else written

    def __str__(self) -> str:
        if self.near is not None:
            return f"~{_short(self.near)}"
        low, high = ("" if side is None else f"{side:.6g}" for side in (self.low, self.high))
        return f"={low}..{high}"


@dataclass(frozen=True)
class OneOf:
    """The argument equals one of `values`."""

    values: tuple[Any, ...]
    may_be_missing: ClassVar[bool] = False

    def holds(self, value: Any) -> bool:
        """Return whether a given argument fits."""
        return any(same_value(value, other) for other in self.values)

    def example(self) -> Any:
        """Return a value that fits: the first."""
        return self.values[0]

    def plain(self) -> dict[str, Any]:
        """Return the pattern as it is written in a plan."""
        return {"in": list(self.values)}

    def __str__(self) -> str:
        return "=" + "|".join(map(_short, self.values))


@dataclass(frozen=True)
class Alike:
    """The argument is the same value, numbers by value and unit: `500 ml` is `0.5 l`, and 14 is `14`."""

    value: Any
    may_be_missing: ClassVar[bool] = False

    def holds(self, value: Any) -> bool:
        """Return whether a given argument fits."""
        return _alike(self.value, value)

    def example(self) -> Any:
        """Return a value that fits."""
        return self.value

    def plain(self) -> dict[str, Any]:
        """Return the pattern as it is written in a plan."""
        return {"alike": self.value}

    def __str__(self) -> str:
        return f"={_short(self.value)}"


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_alike(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    if same_value(one, other):
        return True
    # Its regular expressions take long to compile, and few patterns need them.
    from core_eval.text.notation import same_amount

    return same_amount(one, other)


@dataclass(frozen=True)
class Absent:
    """The argument is not given; under the name `*`: none is given that has no pattern of its own."""

    may_be_missing: ClassVar[bool] = True

    def holds(self, value: Any) -> bool:
        """Return False: no argument fits."""
        return False

    def example(self) -> Any:
        """Return None: there is no value that fits."""
        return None

    def plain(self) -> dict[str, Any]:
        """Return the pattern as it is written in a plan."""
        return {"absent": True}

    def __str__(self) -> str:
        return " absent"


Pattern: TypeAlias = Exact | Excluded | Anything | Near | Range | OneOf | Alike | Absent

_FORMS = (
    "{any: true}, {any: true, such_as: ..}, {not: [..]}, {near: v, abs: d}, {near: v, rel: r}, "
    "{min: a, max: b}, {min: a, max: b, near: v}, {in: [..]}, {alike: ..}, {absent: true} or {exact: ..}"
)


def _short(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def parse_pattern(written: Any) -> Pattern:
    """Read a pattern as a plan writes it; a plain value is exact.

    Raises ValueError with a sentence that names the fault.
    """
    if not isinstance(written, Mapping):
        return Exact(written)
    keys = set(written)
    if keys == {"exact"}:
        return Exact(written["exact"])
    if keys == {"alike"}:
        return Alike(written["alike"])
    if keys == {"absent"} and written["absent"] is True:
        return Absent()
    if keys in ({"any"}, {"any", "such_as"}):
        if written["any"] is not True:
            raise ValueError("write {any: true}")
        return Anything(written.get("such_as"))
    if keys in ({"not"}, {"in"}):
        (key,) = keys
        values = written[key]
        if not isinstance(values, list | tuple) or (key == "in" and not values):
            raise ValueError(f"'{key}' needs a list of values, not {values!r}")
        return Excluded(tuple(values)) if key == "not" else OneOf(tuple(values))
    if keys - {"together"} in ({"near", "abs"}, {"near", "rel"}):
        tolerance = written["rel" if "rel" in keys else "abs"]
        if not (is_number(written["near"]) and is_number(tolerance) and tolerance >= 0):
            raise ValueError("'near' and its tolerance must be numbers, the tolerance not below 0")
        return Near(written["near"], tolerance, "rel" in keys, written.get("together") is True)
    if keys & {"min", "max"} and keys <= {"min", "max", "near", "part"}:
        low, near, high = (written.get(side) for side in ("min", "near", "max"))
        given = [limit for limit in (low, near, high) if limit is not None]
        if not all(map(is_number, given)) or given != sorted(given):
            raise ValueError("'min' and 'max' must be numbers, min not above max, 'near' between them")
        return Range(low, high, near, written.get("part") is True)
    raise ValueError(f"{dict(written)!r} is not a pattern: write {_FORMS}")


def specificity(pattern: Pattern) -> tuple[int, int]:
    """Rank a pattern: (1 if exact, 1 if it constrains at all)."""
    return int(isinstance(pattern, Exact | Alike)), int(not isinstance(pattern, Anything))


def may_overlap(left: Pattern, right: Pattern) -> bool:
    """Return whether one value could fit both; True where that cannot be excluded."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Exact | Alike):
            return other.holds(one.value)
        if isinstance(one, OneOf):
            return any(other.holds(value) for value in one.values)
    if isinstance(left, Near | Range) and isinstance(right, Near | Range):
        return left.span[0] <= right.span[1] and right.span[0] <= left.span[1]
    return True
