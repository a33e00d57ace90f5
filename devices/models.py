"""Bases of the data models: initial states, device files, arguments."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """No unknown keys, finite numbers, frozen."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)


class StrictModel(FrozenModel):
    """Also strict types: no conversion of text to numbers."""

    model_config = ConfigDict(strict=True)
