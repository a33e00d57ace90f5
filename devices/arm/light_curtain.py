"""The light curtain before an arm: the times in which a person stands in it."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from devices.models import FrozenModel


class Break(FrozenModel):
    """A time in which the light curtain is broken."""

    at: float = Field(ge=0.0, description="device time at which it begins, s")
    seconds: float = Field(gt=0.0, description="how long")


def is_broken(breaks: Iterable[Break], t: float) -> bool:
    """Return whether the light curtain is broken at device time `t`, s."""
    return any(one.at <= t < one.at + one.seconds for one in breaks)
