"""Independent parts of a world, run apart from it for many sets of their own unknowns at once.

Given what the rest of the world brings them (a plant's soil: its water), such parts tell nothing of each
other, so that a twin weighs the unknowns of each alone (`core_eval.harm.twin.factors`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GridEvents:
    """The events of one rule, for members by points.

    Attributes:
        happens: whether there is one, more than a trifle.
        t_start, t_end: device time, s, where it happens.
        severity, exposure: as in `devices.harm.HarmEvent`.
        trifle: the cost up to which there is none, in the rule's unit of cost.
    """

    happens: NDArray[np.bool_]
    t_start: Floats
    t_end: Floats
    severity: Floats
    exposure: Floats
    trifle: float


@dataclass(frozen=True, slots=True)
class FactorRun:
    """What comes of a part.

    Attributes:
        quantities: of each sensor without noise, moments by members by points.
        events: by rule.
    """

    quantities: Mapping[str, Floats]
    events: Mapping[str, GridEvents]


class FactorGrid(Protocol):
    """A part at all points, for members that give it different amounts, at one moment.

    Attributes:
        t: device time, s.
    """

    t: float

    def taken(self, members: Sequence[int]) -> FactorGrid:
        """Return a copy that has these members, by index."""

    def advance(self, until: float, inflow: Floats) -> None:
        """Go on to this device time, s, with what each member gives the part in a second."""

    def run_out(self) -> None:
        """Go on without anything for as long as a rule counts what comes."""

    def quantities(self) -> Mapping[str, Floats]:
        """Return what each sensor sees without noise, members by points."""

    def events(self) -> Mapping[str, GridEvents]:
        """Return the events so far, by rule."""


class Factor(Protocol):
    """An independent part of a world.

    Attributes:
        entity: which its events name.
        start: the path of its unknown in the initial state; the first column.
        hidden: the parameters that it has for its own; the next columns.
        columns: how many coordinates a point has.
        sensors: those that tell of nothing else.
    """

    entity: str
    start: tuple[str, ...]
    hidden: tuple[str, ...]
    columns: int
    sensors: tuple[str, ...]

    def begin(self, start: Floats, hidden: Mapping[str, Floats], shares: Floats) -> FactorGrid:
        """Return all points at device time 0, for one member."""

    def run(
        self,
        start: Floats,
        hidden: Mapping[str, Floats],
        shares: Floats,
        given: Sequence[tuple[float, float, Floats]],
        moments: Sequence[float],
        end: float,
    ) -> FactorRun:
        """Run all points, with what each member gives the part in spans of device time, s."""
