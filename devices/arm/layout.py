"""What stands on a bench, whatever the arm: its names, masses, supports and overlaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from devices.arm.arm_world import ArmWorld, BenchHidden
from devices.arm.footprints import Footprint, first_overlap
from devices.arm.things import GRIP_HEIGHT, LEAST_MASS, BenchObject


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


def check_room(layout: ArmWorld, stand: Footprint) -> None:
    """Raise `ValueError` where something stands in something else, or in the arm's `stand`."""
    footprints = [thing.footprint(name, base_height(layout, thing)) for name, thing in layout.objects.items()]
    clash = first_overlap([*footprints, *fixtures(layout, stand)])
    if clash is not None:
        raise ValueError(f"{clash[0]} stands in {clash[1]}; move it")


def support(layout: ArmWorld, x: float, y: float) -> float:
    """Return the height of the bench or of the bin's floor under a point, m."""
    return max((tray.floor for tray in layout.bins.values() if tray.holds(x, y)), default=0.0)


def base_height(layout: ArmWorld, thing: BenchObject) -> float:
    """Return the initial height of an object's base, m: of its support, or higher if its z says so."""
    return max(thing.z - GRIP_HEIGHT, support(layout, thing.x, thing.y))


def fixtures(layout: ArmWorld, stand: Footprint) -> Iterator[Footprint]:
    """Return the fixed things on the bench: the arm's stand, obstacles, and the walls of the bins."""
    yield stand
    for name, block in layout.obstacles.items():
        yield block.footprint(name)
    for name, tray in layout.bins.items():
        yield from tray.footprints(name)
