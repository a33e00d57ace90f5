"""Aids of a counterfactual motion: what the arm cannot do by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Aid:
    """Aid of one motion.

    Attributes:
        passes_through: arm and target pass through everything but each other, the bench and bins' floors.
        goes_over: a straight line is replaced by a path over everything, in the same time.
        round_zone: the keep-out zone to be avoided.
        soft_grip: a grip is limited to what the object bears; a motion without a grip passes through things.
        release: an object is lowered onto its support, or put beside what it would stand on.
        limits_torque: every joint's drive is limited to the limit of the harm rule.
    """

    passes_through: bool = False
    goes_over: bool = False
    round_zone: str | None = None
    soft_grip: bool = False
    release: Literal["lower", "beside"] | None = None
    limits_torque: bool = False


NO_AID = Aid()
