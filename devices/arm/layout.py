"""What stands on a bench, whatever the arm: its names, masses, supports and overlaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from devices.arm.footprints import Footprint, first_overlap
from devices.arm.hidden import BenchHidden
from devices.arm.things import GRIP_HEIGHT, LEAST_MASS, BenchObject, Bin, Obstacle


class Layout(Protocol):
    """A world as these functions see it."""

    @property
    def objects(self) -> Mapping[str, BenchObject]:
        """The objects by name."""

    @property
    def bins(self) -> Mapping[str, Bin]:
        """The bins by name."""

    @property
    def obstacles(self) -> Mapping[str, Obstacle]:
        """The obstacles by name."""


def check_names(**kinds: Iterable[str]) -> None:
    """Raise `ValueError` where two things have one name; the keywords say what the things are."""
    names = [name for group in kinds.values() for name in group]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        *first, last = kinds
        raise ValueError(f"{twice[0]}: {', '.join(first)} and {last} need different names")


def check_mass(name: str, thing: BenchObject, hidden: BenchHidden) -> None:
    """Raise `ValueError` where an object is too light for the physics."""
    if thing.mass * hidden.mass < LEAST_MASS:
        raise ValueError(f"objects.{name}.mass: times hidden.mass it must be at least {LEAST_MASS:g} kg")


def check_room(layout: Layout, stand: Footprint) -> None:
    """Raise `ValueError` where something stands in something else, or in the arm's `stand`."""
    footprints = [thing.footprint(name, base_height(layout, thing)) for name, thing in layout.objects.items()]
    clash = first_overlap([*footprints, *fixtures(layout, stand)])
    if clash is not None:
        raise ValueError(f"{clash[0]} stands in {clash[1]}; move it")


def support(layout: Layout, x: float, y: float) -> float:
    """Return the height of the bench or of the bin's floor under a point, m."""
    return max((tray.floor for tray in layout.bins.values() if tray.holds(x, y)), default=0.0)


def base_height(layout: Layout, thing: BenchObject) -> float:
    """Return the initial height of an object's base, m: of its support, or higher if its z says so."""
    return max(thing.z - GRIP_HEIGHT, support(layout, thing.x, thing.y))


def fixtures(layout: Layout, stand: Footprint) -> Iterator[Footprint]:
    """Return the fixed things on the bench: the arm's stand, obstacles, and the walls of the bins."""
    yield stand
    for name, block in layout.obstacles.items():
        yield block.footprint(name)
    for name, tray in layout.bins.items():
        yield from tray.footprints(name)
