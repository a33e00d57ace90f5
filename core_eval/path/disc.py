"""Distances in whole nanometres, as a chip without floating point decides on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from core_eval.path.patterns import Near

ROUNDING = 1e-9
"""Share of a tolerance that double precision may add to a distance."""
LEAST_RADIUS = 0.01
"""Of a disc: below it a nanometre may be more than `DOUBT`."""
DOUBT = 1e-6
"""So near to 1, as a share of the tolerance, whole nanometres decide."""


def nano(value: float) -> int:
    """Return a number in 1e-9, cut off towards zero: of the decimal that it is printed as."""
    return int(Decimal(str(value)).scaleb(9))


@dataclass(frozen=True)
class Disc:
    """The places within a distance of one, in 1e-9 of their unit."""

    x: int
    y: int
    radius: int

    @classmethod
    def of(cls, x: Near, y: Near) -> Disc | None:
        """Return the disc that two patterns bound; None where their tolerances differ or are small."""
        radius = x.span[1] - x.value
        if radius < LEAST_RADIUS or not math.isclose(radius, y.span[1] - y.value, rel_tol=ROUNDING):
            return None
        return cls(nano(x.value), nano(y.value), round(radius * (1 + ROUNDING) * 1e9))

    def holds(self, x: float, y: float) -> bool:
        """Return whether a place lies in it."""
        return (nano(x) - self.x) ** 2 + (nano(y) - self.y) ** 2 <= self.radius**2
