"""What `run --hazards` draws: starts in which harm is likely, in the world's file under `hazards`."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from configs.variation import EACH, Variation
from devices.models import FrozenModel
from sims.overrides import stack_overrides


class Hazard(FrozenModel):
    """A hazard: with what probability an episode has it, and the starts that it may have."""

    probability: float = Field(gt=0.0, le=1.0, description="that an episode has it")
    one_of: list[dict[str, Any]] = Field(
        min_length=1,
        description="overrides of the initial state, of which one is drawn; a range, as under `vary`, "
        "stands for a drawn value, and `*` for each entry",
    )

    @model_validator(mode="after")
    def _has_sound_ranges(self) -> Self:
        _check_ranges(self.one_of)
        return self


Hazards = Mapping[str, Hazard]
"""By name."""


def draw_hazards(
    hazards: Hazards, state: Mapping[str, Any], seed: str
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the names of the hazards that an episode has, one at least, and overrides of its initial state.

    The same for the same seed. Each hazard has a generator of its own, so that one more changes no other.
    Where two set the same value, the later one in the file holds, and the other is not named.
    """
    chances = {name: Random(f"{seed}/{name}") for name in hazards}
    rolls = {name: rng.random() / hazards[name].probability for name, rng in chances.items()}
    names = [name for name, roll in rolls.items() if roll < 1.0] or [min(rolls, key=rolls.__getitem__)]
    starts = {
        name: drawn_start(chances[name].choice(hazards[name].one_of), state, chances[name]) for name in names
    }
    overrides: dict[str, Any] = {}
    for start in starts.values():
        overrides = stack_overrides(overrides, start)
    holding = (name for name, start in starts.items() if stack_overrides(overrides, start) == overrides)
    return tuple(holding), overrides


def drawn_start(start: Mapping[str, Any], state: Mapping[str, Any], rng: Random) -> dict[str, Any]:
    """Return the overrides of a hazard with each range drawn."""
    drawn: dict[str, Any] = _drawn(start, state, rng)
    return drawn


def _range(part: Any) -> Variation | None:
    """Return the range that a part of the overrides is; None if it is none."""
    if isinstance(part, Mapping) and part and part.keys() <= Variation.model_fields.keys():
        return Variation.model_validate(part)
    return None


def _check_ranges(part: Any) -> None:
    try:
        found = _range(part)
    except ValidationError as error:
        reason = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise ValueError(f"{dict(part)}: {reason}") from None
    if found is None:
        parts = part.values() if isinstance(part, Mapping) else part if isinstance(part, list) else ()
        for inner in parts:
            _check_ranges(inner)


def _drawn(part: Any, own: Any, rng: Random) -> Any:
    """Return a part of the overrides with its ranges drawn; `own` is the state's part, or None."""
    if (variation := _range(part)) is not None:
        return variation.draw(own, rng)
    if isinstance(part, list):
        return [_drawn(one, None, rng) for one in part]
    if not isinstance(part, Mapping):
        return part
    state = own if isinstance(own, Mapping) else {}
    drawn: dict[str, Any] = {}
    for key, inner in part.items():
        for name in state if key == EACH else [key]:
            drawn[name] = _drawn(inner, state.get(name), rng)
    return drawn
