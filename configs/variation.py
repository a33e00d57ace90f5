"""What `run --vary` draws: ranges of a world's initial state, declared in the world's file under `vary`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, Self

from pydantic import Field, model_validator

from devices.models import FrozenModel

DIGITS = 4
EACH = "*"


class Variation(FrozenModel):
    """The range of one value: `plus_minus`, `share`, both of `min` and `max`, or `one_of`."""

    plus_minus: float | None = Field(
        default=None, gt=0, description="as far to both sides of the initial state's own value"
    )
    share: float | None = Field(
        default=None,
        gt=0,
        description="the same as a share of that value; with `plus_minus`, the wider counts",
    )
    min: float | None = Field(
        default=None, description="the least; with `plus_minus` or `share` it cuts the range off"
    )
    max: float | str | None = Field(
        default=None, description="the most, or the dotted key of the value that it is; likewise"
    )
    one_of: list[float | int | bool | str] | None = Field(
        default=None, min_length=1, description="the values there are, in place of a range"
    )

    @model_validator(mode="after")
    def _is_one_range(self) -> Self:
        bounds = [self.min, self.max]
        if self.one_of is not None:
            sound = not self.relative and bounds == [None, None]
        else:
            sound = self.relative or None not in bounds
        if not sound:
            raise ValueError("give plus_minus, or share, or min and max, or one_of")
        if self.min is not None and isinstance(self.max, float) and self.min > self.max:
            raise ValueError("min must not be above max")
        return self

    def within(self, state: Mapping[str, Any]) -> Variation:
        """Return it with the most as a number, that of the state where it is a key."""
        if not isinstance(self.max, str):
            return self
        return self.model_copy(update={"max": next(own for _, own in values_at(self.max, state))})

    @property
    def relative(self) -> bool:
        """Whether the range is around the initial state's own value, which is then a number."""
        return self.plus_minus is not None or self.share is not None

    def draw(self, own: Any, rng: Random) -> Any:
        """Return a value, uniform over the range; `own`, the initial state's, where nothing of the range is
        left.
        """
        if self.one_of is not None:
            return rng.choice(self.one_of)
        low, high = self._bounds(own)
        return own if low > high else min(max(round(rng.uniform(low, high), DIGITS), low), high)

    def at(self, own: Any, share: float) -> Any:
        """Return the value at that share (0 to 1) of the range, for one that is known so well only.

        Where `min` or `max` cuts a range around `own` off, what lies beyond is at that bound: a tank that is
        told to be full has as good a chance to be full as not.
        """
        if self.one_of is not None:
            return self.one_of[min(len(self.one_of) - 1, int(share * len(self.one_of)))]
        low, high = self._bounds(own)
        if low > high:
            return own
        far = self._far(own)
        at = low + share * (high - low) if far is None else own + (2.0 * share - 1.0) * far
        return min(max(at, low), high)

    def _far(self, own: Any) -> float | None:
        """Return how far a range around `own` reaches to both sides; None of another range."""
        return max(self.plus_minus or 0.0, abs(own) * (self.share or 0.0)) if self.relative else None

    def _bounds(self, own: Any) -> tuple[float, float]:
        low, high = self.min, self.max
        far = self._far(own)
        if far is not None:
            low = own - far if low is None else max(low, own - far)
            high = own + far if not isinstance(high, int | float) else min(high, own + far)
        assert low is not None and isinstance(high, int | float), "the validator and `within` make sure"
        return low, high


def draw_state(ranges: Mapping[str, Variation], state: Mapping[str, Any], seed: str) -> dict[str, Any]:
    """Return overrides of an initial state, one value for each that `ranges` names; the same for the same
    seed.

    Each value has a generator of its own, so that a range more changes no other value. What the state lacks,
    such as a plant that was taken away, is left out.
    """
    overrides: dict[str, Any] = {}
    for path, own, variation in each_value(ranges, state):
        put(overrides, path, variation.draw(own, Random(f"{seed}/{'.'.join(path)}")))
    return overrides


def each_value(
    ranges: Mapping[str, Variation], state: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...], Any, Variation]]:
    """Yield the path, the own value and the range of each value of the state that `ranges` names."""
    for key, variation in ranges.items():
        for path, own in values_at(key, state):
            yield path, own, variation.within(state)


def values_at(key: str, state: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the path and the value of each part of a state that a dotted key names."""
    return _values(key.split("."), state)


def put(overrides: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Set the value at a path of nested overrides."""
    inner = overrides
    for name in path[:-1]:
        inner = inner.setdefault(name, {})
    inner[path[-1]] = value


def unknown_key(ranges: Mapping[str, Variation], state: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the place of the first key that names no single value of the state; a `*` may stand for no entry
    at all.
    """
    for key, variation in ranges.items():
        parts = key.split(".")
        found = [own for _, own in _values(parts, state)]
        numbers = not variation.relative or all(
            isinstance(own, int | float) and not isinstance(own, bool) for own in found
        )
        if isinstance(variation.max, str):
            most = [type(own) for _, own in values_at(variation.max, state)]
            if most not in ([int], [float]):
                return key, "max"
        if not numbers or any(isinstance(own, Mapping) for own in found) or not (found or EACH in parts):
            return (key,)
    return None


def _values(
    parts: list[str], state: Any, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not parts:
        yield path, state
    elif isinstance(state, Mapping):
        for name in state if parts[0] == EACH else [parts[0]]:
            if name in state:
                yield from _values(parts[1:], state[name], (*path, name))
