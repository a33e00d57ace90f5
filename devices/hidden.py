"""Hidden parameters: how a rig differs from the model that its controller has of it.

Each world has a part `hidden`, a frozen model of numbers whose nominal values are their defaults. A rig does
not know them; a twin holds an ensemble of them, and calibration fits them to logged episodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field

Scale = Literal["linear", "log"]


@dataclass(frozen=True, slots=True)
class HiddenParameter:
    """One number of a world's `hidden` part.

    Attributes:
        name: its key in `hidden`.
        nominal: the controller's value.
        low, high: the range of rigs of this kind, uniform on that scale.
        scale: `log` for factors over several octaves.
    """

    name: str
    nominal: float
    low: float
    high: float
    scale: Scale
    description: str

    def at(self, share: float) -> float:
        """Return the value at that share (0 to 1) of the range, on its scale."""
        if self.scale == "log":
            return self.low * float((self.high / self.low) ** share)
        return self.low + share * (self.high - self.low)


def hidden(nominal: float, low: float, high: float, description: str, scale: Scale = "linear") -> Any:
    """Return a field of a `hidden` part: its nominal value, and the range of rigs of this kind.

    An initial state may leave that range within physical bounds: a share (nominal 0) is at most 1, and a
    factor over octaves is above 0, since rates are divided by it.
    """
    return Field(
        default=nominal,
        ge=None if scale == "log" else 0.0,
        gt=0.0 if scale == "log" else None,
        le=1.0 if nominal == 0.0 else None,
        description=description,
        json_schema_extra={"low": low, "high": high, "scale": scale},
    )


def hidden_parameters(part: type[BaseModel]) -> tuple[HiddenParameter, ...]:
    """Return the parameters of a `hidden` part, in the order of its fields."""
    found = []
    for name, field in part.model_fields.items():
        extra = field.json_schema_extra
        if not isinstance(extra, Mapping):
            raise TypeError(f"{part.__name__}.{name} was not made by devices.hidden.hidden")
        found.append(
            HiddenParameter(
                name,
                float(field.default),
                float(extra["low"]),  # type: ignore[arg-type]
                float(extra["high"]),  # type: ignore[arg-type]
                "log" if extra["scale"] == "log" else "linear",
                field.description or "",
            )
        )
    return tuple(found)
