"""Draws the field at a moment of an episode as a PNG file, from the shapes of the report's map."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import quoteattr

from core_eval.report.pictures.field_shapes import Field, Point
from sims.picture_error import CannotDrawError
from sims.world_shapes import Shape

GROUND, BEYOND, SOLID, PLACE, THING = "e9e4d8", "f7f8f8", "8f989c", "3b9a78", "b77aa4"
WAY, MACHINE, OTHER, HARM = "00659e", "00659e", "e08a1e", "c8310f"
"""Colours, as on the report's map."""
MARGIN = 1.04
LINE, DOT, BODY, CROSS = 0.0035, 0.011, 0.02, 0.022
"""Half the width of a line, radius of a stop, of the machine, half a cross, as shares of the diagonal."""
DASH = 0.012
"""Length of a dash and of a gap, as a share of the diagonal."""
LIFT = 0.01
"""Height between two layers, m: what matters most is on top."""


def field_picture(
    field: Field, state: Mapping[str, Any], size: tuple[int, int], struck: Sequence[str] = ()
) -> bytes:
    """Return the field from above as a PNG file of `size` (width, height) pixels.

    Args:
        field: with the stops and the way until then.
        state: the true state of that moment: the machine's `pose`, and `SECTION_at` for what passes.
        size: pixels.
        struck: names of what harm is done to; the machine is marked for what is not on the map.

    Raises:
        CannotDrawError: MuJoCo is not installed, or has no OpenGL.
    """
    try:
        import mujoco

        from sims.offscreen import rendered
    except ImportError:
        raise CannotDrawError("pictures need MuJoCo: pip install 'pathrig[arm]'") from None
    scene = _Scene(field, state, struck)
    model = mujoco.MjModel.from_xml_string(scene.xml(size))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return rendered(model, data, "top", size, scene.labels)


class _Scene:
    """A flat scene seen from above, in layers."""

    def __init__(self, field: Field, state: Mapping[str, Any], struck: Sequence[str]) -> None:
        self.field = field
        left, low, right, high = field.bounds
        self.centre = (left + right) / 2, (low + high) / 2
        self.width, self.height = right - left, high - low
        self.long = math.hypot(self.width, self.height)
        self.labels = frozenset(shape.name for shape in field.shapes) | frozenset(field.tracks)
        half = f"{self.width / 2:.4f} {self.height / 2:.4f} 0.001"
        self.parts = [_geom("box", self.centre, 0, half, GROUND)]
        for shape in sorted(field.shapes, key=lambda shape: -shape.width * shape.depth):
            self.parts += self._shape(shape)
        stops = [(stop.x, stop.y) for stop in field.stops]
        self.parts += self._line(field.driven, WAY, 3) if field.driven else self._dashes(stops)
        self.parts += [_geom("cylinder", stop, 4, f"{DOT * self.long:.4f} 0.001", WAY) for stop in stops]
        passing = {name: _point(state.get(f"{name}_at")) for name in field.tracks}
        for name, track in field.tracks.items():
            self.parts += self._line(track, OTHER, 2, share=LINE / 2)
            now = passing[name]
            if now is not None:
                self.parts.append(_geom("cylinder", now, 5, f"{BODY * self.long / 2:.4f} 0.001", OTHER, name))
        self.parts += self._machine(state.get("pose"))
        for name in dict.fromkeys(struck):
            spot = field.shape(name)
            at = passing.get(name) or (_point(state.get("pose")) if spot is None else _last(field, spot))
            if at is not None:
                self.parts += self._cross(at)

    def xml(self, size: tuple[int, int]) -> str:
        """Return the scene as MJCF; the camera sees the whole field.

        What room is left is at the right, as names stand at the right of their places.
        """
        tall = MARGIN * max(self.height, self.width * size[1] / size[0])
        x, y = self.centre
        x += (tall * size[0] / size[1] - MARGIN * self.width) / 2
        return (
            "<mujoco><visual>"
            '<headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/><map znear="0.01" zfar="100"/>'
            '</visual><asset><texture type="skybox" builtin="flat" width="32" height="32" '
            f'rgb1="{_rgb(BEYOND)}" rgb2="{_rgb(BEYOND)}"/></asset><worldbody>'
            f'<camera name="top" pos="{x:.4f} {y:.4f} 5" projection="orthographic" fovy="{tall:.4f}"/>'
            f"{''.join(self.parts)}</worldbody></mujoco>"
        )

    def _shape(self, shape: Shape) -> Iterator[str]:
        x, y = _last(self.field, shape)
        least = DOT * self.long
        wide, deep = max(shape.width / 2, least), max(shape.depth / 2, least)
        places = {one.section for one in self.field.shapes if not one.width}
        thing = shape.name in self.field.moves
        colour = THING if thing else PLACE if shape.section in places else SOLID
        if shape.round:
            yield _geom("cylinder", (x, y), 1, f"{wide:.4f} 0.001", colour, shape.name)
        else:
            yield _geom("box", (x, y), 1, f"{wide:.4f} {deep:.4f} 0.001", colour, shape.name, shape.yaw)

    def _line(self, points: Sequence[Point], colour: str, layer: int, share: float = LINE) -> Iterator[str]:
        for one, two in pairwise(points):
            long = math.dist(one, two)
            if long:
                middle = (one[0] + two[0]) / 2, (one[1] + two[1]) / 2
                yaw = math.atan2(two[1] - one[1], two[0] - one[0])
                yield _geom(
                    "box", middle, layer, f"{long / 2:.4f} {share * self.long:.4f} 0.001", colour, yaw=yaw
                )

    def _dashes(self, points: Sequence[Point]) -> Iterator[str]:
        """Draw straight dashes from stop to stop: the way between is not known."""
        for one, two in pairwise(points):
            count = max(1, math.ceil(math.dist(one, two) / (DASH * self.long)))
            marks = [
                (one[0] + (two[0] - one[0]) * k / count, one[1] + (two[1] - one[1]) * k / count)
                for k in range(count + 1)
            ]
            for dash in list(pairwise(marks))[::2]:
                yield from self._line(dash, WAY, 3)

    def _cross(self, at: Point) -> Iterator[str]:
        half = f"{CROSS * self.long:.4f} {LINE * self.long * 1.4:.4f} 0.001"
        for yaw in (math.pi / 4, -math.pi / 4):
            yield _geom("box", at, 8, half, HARM, yaw=yaw)

    def _machine(self, pose: Any) -> Iterator[str]:
        """Draw a body, and a bar towards where it heads, if the pose tells."""
        at = _point(pose)
        if at is None:
            return
        body = BODY * self.long
        yield _geom("cylinder", at, 6, f"{0.7 * body:.4f} 0.001", MACHINE)
        yield _geom("cylinder", at, 7, f"{0.45 * body:.4f} 0.001", BEYOND)
        heading = pose.get("yaw") if isinstance(pose, Mapping) else None
        if isinstance(heading, int | float):
            ahead = at[0] + body * math.cos(heading), at[1] + body * math.sin(heading)
            yield _geom(
                "box", ahead, 6, f"{body * 0.6:.4f} {LINE * self.long * 1.4:.4f} 0.001", MACHINE, yaw=heading
            )


def _geom(kind: str, at: Point, layer: int, size: str, colour: str, name: str = "", yaw: float = 0.0) -> str:
    named = f" name={quoteattr(name)}" if name else ""
    return (
        f'<geom type="{kind}"{named} pos="{at[0]:.4f} {at[1]:.4f} {layer * LIFT:.4f}" size="{size}" '
        f'euler="0 0 {math.degrees(yaw):.3f}" rgba="{_rgb(colour)} 1"/>'
    )


def _rgb(colour: str) -> str:
    return " ".join(f"{int(colour[at : at + 2], 16) / 255:.4f}" for at in (0, 2, 4))


def _last(field: Field, shape: Shape) -> Point:
    return field.moves.get(shape.name, ((shape.x, shape.y),))[-1]


def _point(where: Any) -> Point | None:
    """Return a position that is a pair, or has x and y."""
    if isinstance(where, Mapping):
        where = (where.get("x"), where.get("y"))
    if not isinstance(where, Sequence) or isinstance(where, str) or len(where) < 2:
        return None
    x, y = where[:2]
    return (float(x), float(y)) if isinstance(x, int | float) and isinstance(y, int | float) else None
