"""Rain on the plants' basins, as the world's forecast has it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from devices.farm_rover import tolerances
from devices.farm_rover.surroundings import Shower

Pieces = Sequence[tuple[float, float]]
"""A flow of water in pieces: s, L/s."""


def rain_rate(showers: Iterable[Shower], t: float) -> float:
    """Return the intensity of rain from device time t (s) on, mm/s."""
    now = t + tolerances.PIECE_S
    return sum(one.mm / one.seconds for one in showers if one.at <= now < one.at + one.seconds)


def next_change(showers: Iterable[Shower], t: float) -> float:
    """Return the next device time after t at which a shower begins or ends, s; infinite for none."""
    ends = (end for one in showers for end in (one.at, one.at + one.seconds))
    return min((end for end in ends if end > t + tolerances.PIECE_S), default=math.inf)


def rained_on(pieces: Pieces, showers: Sequence[Shower], area: float, t: float) -> Pieces:
    """Return a flow from device time t (s) on with the rain on an area (m2) added."""
    if not showers:
        return pieces
    parts = []
    for seconds, flow in pieces:
        end = t + seconds
        while end - t > tolerances.PIECE_S:
            until = min(end, next_change(showers, t))
            parts.append((until - t, flow + rain_rate(showers, t) * area))
            t = until
    return parts
