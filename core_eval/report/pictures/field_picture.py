"""Draws the field at a moment of an episode: the report's map, with the machine and what passes by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from core_eval.report.pictures.field_shapes import Field, Point
from core_eval.report.pictures.field_view import draw_field
from core_eval.report.pictures.plot import Plot

BODY, PASSER = 8.0, 6.0
"""Radii of the machine and of what passes by, in the drawing's units."""


def field_svg(field: Field, state: Mapping[str, Any], struck: Sequence[str] = ()) -> str:
    """Return the field from above, in the colours of the page around it.

    Args:
        field: with the stops and the way until then.
        state: the true state of that moment: the machine's `pose`, and `SECTION_at` for what passes.
        struck: names of what harm is done to; the machine is marked for what is not on the map.
    """
    machine = _point(state.get("pose"))
    passing = {name: _point(state.get(f"{name}_at")) for name in field.tracks}
    crosses = []
    for name in dict.fromkeys(struck):
        spot = field.shape(name)
        at = passing.get(name) or (
            machine if spot is None else field.moves.get(name, ((spot.x, spot.y),))[-1]
        )
        crosses += [] if at is None else [at]

    def marks(plot: Plot) -> None:
        for where in passing.values():
            if where is not None:
                plot.labels.keep_clear(*plot.at(where), PASSER)
                plot.dot(where, "passer", PASSER)
        _machine(plot, machine, state.get("pose"))

    return draw_field(field, (), (), crosses, marks).svg()


def _machine(plot: Plot, at: Point | None, pose: Any) -> None:
    """Draw a body, and a bar towards where it heads, if the pose tells."""
    if at is None:
        return
    heading = pose.get("yaw") if isinstance(pose, Mapping) else None
    if isinstance(heading, int | float):
        x, y = plot.at(at)
        dx, dy = 2.2 * BODY * math.cos(heading), -2.2 * BODY * math.sin(heading)
        plot.add(f'<path class="heading" d="M{x:.1f} {y:.1f}l{dx:.1f} {dy:.1f}"/>')
    plot.labels.keep_clear(*plot.at(at), BODY)
    plot.dot(at, "machine", BODY)


def _point(where: Any) -> Point | None:
    """Return a position that is a pair, or has x and y."""
    if isinstance(where, Mapping):
        where = (where.get("x"), where.get("y"))
    if not isinstance(where, Sequence) or isinstance(where, str) or len(where) < 2:
        return None
    x, y = where[:2]
    return (float(x), float(y)) if isinstance(x, int | float) and isinstance(y, int | float) else None
