"""The share of a spraying that the wind carries to the neighbours.

The share that lands on a like area at z metres downwind is the basic drift value of Rautmann, Streloke and
Winkler, "New basic drift values in the authorization procedure for plant protection products" (Mitteilungen
der Biologischen Bundesanstalt 383, 2001), one application to field crops: 2.7593 z^-0.9778 per cent, for z
from 1 m. Those are 90th percentiles of trials in winds up to 5 m/s. Here they hold straight downwind at
3 m/s and grow in proportion to the wind; across the wind the share falls off as in a Gaussian plume.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from devices.farm_rover import tolerances
from devices.farm_rover.surroundings import Wind
from devices.farm_rover.world import Pose

BASE, EXPONENT = 0.027593, -0.9778
REFERENCE_WIND = 3.0
"""m/s."""
NEAREST = 1.0
"""m: the smallest distance of the values."""
SPREAD = 0.3
"""Standard deviation across the wind over the distance downwind."""


def drift_shares(wind: Wind, target: str, plants: Mapping[str, Pose]) -> dict[str, float]:
    """Return the shares of a spraying of one plant that land on others, by name."""
    shares: dict[str, float] = {}
    if wind.speed == 0.0:
        return shares
    along, across = math.cos(wind.towards), math.sin(wind.towards)
    here = plants[target]
    for name, plant in plants.items():
        dx, dy = plant.x - here.x, plant.y - here.y
        z, aside = dx * along + dy * across, dy * along - dx * across
        if name == target or z <= 0.0:
            continue
        share = BASE * max(z, NEAREST) ** EXPONENT * wind.speed / REFERENCE_WIND
        share *= math.exp(-0.5 * (aside / (SPREAD * z)) ** 2)
        if share > tolerances.DRIFT_SHARE:
            shares[name] = share
    return shares
