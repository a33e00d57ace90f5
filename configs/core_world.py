"""The world in which a task of CORE's JSON takes place."""

from __future__ import annotations

from collections.abc import Collection

from configs.worlds_loader import known_world
from core_eval.path import Symbol
from devices.device_type import takes
from sims.world_type import WORLD_TYPES

PAPER = "core:"
"""What the names of the paper's own worlds begin with."""


def core_world(name: str, symbols: Collection[Symbol]) -> str | None:
    """Return the world of a task by the world that it names; None where none is known.

    The paper's own world of that name comes before the kit's, and before any other: the first that has the
    tools and arguments of the symbols, else the first of that name.
    """
    named = [one for one in map(known_world, (PAPER + name, name)) if one is not None]
    others = sorted(WORLD_TYPES, key=lambda one: not one.startswith(PAPER))
    fitting = (one for one in (*named, *others) if takes(WORLD_TYPES[one].device, symbols))
    return next(fitting, named[0] if named else None)
