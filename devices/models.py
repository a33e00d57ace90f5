"""Bases of the data models: initial states, device files, arguments."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

DERIVED = "derived"
"""The key under which a part of a state names the values that were derived."""


class FrozenModel(BaseModel):
    """No unknown keys, finite numbers, frozen."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)


class StrictModel(FrozenModel):
    """Also strict types: no conversion of text to numbers."""

    model_config = ConfigDict(strict=True)


class DerivingModel(StrictModel):
    """A part of a state in which what is left out follows from what is given.

    It remembers which values followed, also in a dump. An override acts on what was given (`given`), and the
    rest follows anew; a dump that nothing overrides is read as it was written.
    """

    derived: tuple[str, ...] = Field(
        default=(),
        strict=False,
        description="names of the values that were left out and follow from the others; filled in",
    )

    @classmethod
    @abstractmethod
    def derive(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values that follow from unchecked given ones; given ones may be among them."""

    @model_validator(mode="before")
    @classmethod
    def _derive(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or DERIVED in data:
            return data
        found = {name: value for name, value in cls.derive(data).items() if name not in data}
        return {**data, **found, DERIVED: tuple(found)}


def given(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part of a dumped state without what was derived in it."""
    derived = part.get(DERIVED)
    # Of another type it is an entry of that name.
    left_out = {DERIVED, *derived} if isinstance(derived, list | tuple) else ()
    return {name: value for name, value in part.items() if name not in left_out}
