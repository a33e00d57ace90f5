"""A pump's work at a plant, and its limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sims.farm_rover.hose import Hose
from sims.farm_rover.rain import Pieces


@dataclass(frozen=True, slots=True)
class Pumping:
    """A pump that is about to run.

    Attributes:
        plant: at which it runs.
        hose: what it pumps through.
        pieces: the nozzle's flow to come, cut to a volume where one is given.
        shares: the share of it that falls on each plant.
    """

    plant: str
    hose: Hose
    pieces: Callable[[float | None], Pieces]
    shares: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Limit:
    """Limits of a pump's work.

    Attributes:
        budget: volume that may leave the nozzle, in the tank's unit; None: no limit.
        tight: the valve closes tightly even where it sticks.
        stops_when_dry: the pump is switched off as soon as the tank is empty.
    """

    budget: float | None = None
    tight: bool = False
    stops_when_dry: bool = False


FREE = Limit()
