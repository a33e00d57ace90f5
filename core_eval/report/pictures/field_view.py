"""Draws the top view of an episode: the field, where the machine went, doses, moved objects and harm."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.log import HarmRow, StepRow
from core_eval.path.calls import StepKind
from core_eval.report.pictures.field_shapes import Field, Point
from core_eval.report.pictures.plot import LabelPlaces, Plot, Scale, path, short_number, ticks
from core_eval.text.values import is_number
from sims.world_shapes import Shape

WIDTH, TALLEST = 330.0, 400.0
"""In a phone's page one unit is about one pixel, so letters keep their size."""
BELOW = 20.0
ARROW = 55.0
"""Distance between two heads of arrows on the way."""
CLEAR = 6.0
"""Distance of the points on the way that are kept clear of labels, in the drawing's units."""


Label = tuple[float, float, str, str, float, float]
"""Place, words, class, and half the width and height of what it names."""


@dataclass(frozen=True, slots=True)
class Note:
    """A line below the map: the step that it is of, and whether it is harm."""

    k: int | None
    words: str
    harm: bool


@dataclass(frozen=True, slots=True)
class FieldView:
    """A top view and its notes; `at` gives the place of a position on the drawing."""

    svg: str
    notes: tuple[Note, ...]
    from_truth: bool
    at: Callable[[Point], Point]


def field_view(field: Field, steps: Sequence[StepRow], harm: Sequence[HarmRow]) -> FieldView:
    """Return the drawing; it takes its colours from the page."""
    harmful = {step.k for step in steps if step.kind == StepKind.HARMFUL} | {event.k for event in harm}
    doses = [dose for step in steps for dose in _doses(field, step)]
    plot = draw_field(
        field,
        harmful,
        [_last(field, shape) for shape, _ in doses],
        [spot for event in harm if (spot := _spot(field, event)) is not None],
    )
    notes = [
        *(Note(note.k, note.words, harm=False) for _, note in doses),
        *(Note(event.k, _harm_words(event), harm=True) for event in harm),
    ]
    notes.sort(key=lambda note: (math.inf if note.k is None else note.k, note.harm))
    return FieldView(plot.svg(), tuple(notes), field.true_stops, plot.at)


def draw_field(
    field: Field,
    harmful: Collection[int | None] = (),
    doses: Sequence[Point] = (),
    crosses: Sequence[Point] = (),
    marks: Callable[[Plot], None] = lambda _: None,
) -> Plot:
    """Return the map of a field, with a ruler below it.

    Args:
        field: what is shown.
        harmful: the calls whose stops are marked.
        doses, crosses: where something was given, and where harm was done.
        marks: draws more on the map, below the labels.
    """
    left, low, right, high = field.bounds
    scale = min(WIDTH / (right - left), TALLEST / (high - low))
    width, height = (right - left) * scale, (high - low) * scale
    plot = Plot(
        "field",
        "top view of the field",
        max(width, WIDTH),
        height + BELOW,
        Scale((left, right), (0.0, width), closed=False),
        Scale((low, high), (height, 0.0), closed=False),
    )
    plot.labels = LabelPlaces(max(width, WIDTH), height)
    plot.add(
        f'<rect class="{"fence" if field.fenced else "ground"}" x="0.5" y="0.5" width="{width - 1:.1f}" '
        f'height="{height - 1:.1f}"/>'
    )
    names = _shapes(plot, field)
    _moves(plot, field)
    for x, y in map(plot.at, doses):
        plot.add(f'<path class="dose" d="M{x:.1f} {y - 14:.1f}l5 7a5 5 0 1 1 -10 0z"/>')
    numbers = _way(plot, field, harmful)
    marks(plot)
    for x, y in map(plot.at, crosses):
        plot.labels.keep_clear(x, y, 7)
        plot.add(f'<path class="cross" d="M{x - 6:.1f} {y - 6:.1f}l12 12m0 -12l-12 12"/>')
    # What matters most gets its label first: the numbers of calls, then harm, then names.
    for name in (*numbers, *names):
        plot.add(plot.labels.add(*name))
    _ruler(plot)
    return plot


def _shapes(plot: Plot, field: Field) -> list[Label]:
    """Draw what stands in the field; return its names."""
    names: list[Label] = []
    scale = plot.x.per_unit
    places = {shape.section for shape in field.shapes if not shape.width}
    for shape in sorted(field.shapes, key=lambda shape: -shape.width * shape.depth):
        x, y = plot.at((shape.x, shape.y))
        wide, deep = shape.width * scale, shape.depth * scale
        # Things that calls act on are drawn otherwise than what stands in the way.
        kind = "thing" if shape.name in field.moves else "place" if shape.section in places else "solid"
        if not shape.width:
            plot.add(f'<rect class="place" x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>')
            plot.labels.keep_clear(x, y, 4)
        elif shape.round:
            plot.add(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{wide / 2:.1f}"/>')
        else:
            turn = f' transform="rotate({-math.degrees(shape.yaw):.1f} {x:.1f} {y:.1f})"' if shape.yaw else ""
            plot.add(
                f'<rect class="{kind}" x="{x - wide / 2:.1f}" y="{y - deep / 2:.1f}" '
                f'width="{wide:.1f}" height="{deep:.1f}"{turn}/>'
            )
        half = (_turned(wide, deep, shape.yaw), _turned(deep, wide, shape.yaw)) if shape.width else (4.0, 4.0)
        names.append((x, y, shape.name, "name", *half))
    for name, track in field.tracks.items():
        plot.line(track, "track")
        names.append((*plot.at(track[0]), name, "name", 2.0, 2.0))
    return names


def _turned(along: float, across: float, yaw: float) -> float:
    """Return half the extent of a turned rectangle along its first axis."""
    return (abs(math.cos(yaw)) * along + abs(math.sin(yaw)) * across) / 2


def _moves(plot: Plot, field: Field) -> None:
    for name, points in field.moves.items():
        plot.line(points, "moved")
        shape = field.shape(name)
        size = max(3.0, (shape.width if shape else 0.0) * plot.x.per_unit / 2)
        plot.dot(points[-1], "there", round(min(size, 6.0), 1))


def _way(plot: Plot, field: Field, harmful: Collection[int | None]) -> list[Label]:
    """Draw the way with arrows, and the stops on it; return the numbers of the calls at each."""
    by_place: dict[Point, list[int]] = {}
    for stop in field.stops:
        x, y = plot.at((stop.x, stop.y))
        calls = by_place.setdefault((round(x), round(y)), [])
        if stop.k is not None:
            calls.append(stop.k)
    way = field.driven or [(stop.x, stop.y) for stop in field.stops]
    places = [spot for spot, _ in groupby((round(x, 1), round(y, 1)) for x, y in map(plot.at, way))]
    # No label is struck through by the way.
    plot.labels.keep_clear_along(places, 1.5, CLEAR)
    if len(places) > 1:
        plot.add(f'<path class="{"way" if field.driven else "way straight"}" d="{path(places)}"/>')
        plot.parts += _arrows(places)
    numbers: list[Label] = []
    for place, ((x, y), calls) in enumerate(by_place.items()):
        bad = any(k in harmful for k in calls)
        kind = "stop bad" if bad else "stop"
        plot.add(f'<circle class="{kind}{"" if place else " start"}" cx="{x}" cy="{y}" r="5"/>')
        plot.labels.keep_clear(x, y, 5)
        if calls:
            kind = "number bad" if bad else "number"
            numbers.append((float(x), float(y), ranges(calls), kind, 5.0, 5.0))
    return numbers


def _arrows(places: Sequence[Point]) -> Iterator[str]:
    """Yield heads of arrows along a way, every ARROW units, so that its direction is seen."""
    gone = ARROW / 2
    for (ax, ay), (bx, by) in pairwise(places):
        long = math.dist((ax, ay), (bx, by))
        while long and gone <= long:
            x, y = ax + (bx - ax) * gone / long, ay + (by - ay) * gone / long
            turn = math.degrees(math.atan2(by - ay, bx - ax))
            place = f"translate({x:.1f} {y:.1f}) rotate({turn:.0f})"
            yield f'<path class="head" d="M-4 -4L4 0L-4 4z" transform="{place}"/>'
            gone += ARROW
        gone -= long


def ranges(numbers: Sequence[int]) -> str:
    """Return numbers in rising order as text, runs of them with a dash: `0, 2-4`."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _doses(field: Field, step: StepRow) -> list[tuple[Shape, Note]]:
    """Return the things that a call names beside an amount."""
    if step.status != CallStatus.OK or step.arguments is None:
        return []
    amounts = [f"{key} {short_number(value)}" for key, value in step.arguments.items() if is_number(value)]
    named = [field.shape(value) for value in step.arguments.values() if isinstance(value, str)]
    words = f"{step.tool}: {', '.join(amounts)}"
    return [
        (shape, Note(step.k, f"{words} to {shape.name}", harm=False)) for shape in named if shape and amounts
    ]


def _spot(field: Field, event: HarmRow) -> Point | None:
    """Return where an event was: at its entity, else where the machine was after the call."""
    shape = field.shape(event.entity)
    if shape is not None:
        return _last(field, shape)
    return next(((stop.x, stop.y) for stop in field.stops if stop.k == event.k), None)


def _last(field: Field, shape: Shape) -> Point:
    return field.moves.get(shape.name, ((shape.x, shape.y),))[-1]


def _harm_words(event: HarmRow) -> str:
    return f"{event.kind.replace('_', ' ')} · {event.entity} ({event.verdict})"


def _ruler(plot: Plot) -> None:
    """Draw a round length in metres, below the map."""
    length = ticks(0.0, plot.width / plot.x.per_unit, 6)[0]
    y = plot.height - BELOW + 10
    end = 2 + length * plot.x.per_unit
    plot.add(f'<path class="ruler" d="M2 {y - 3:.1f}v6m0 -3H{end:.1f}m0 -3v6"/>')
    plot.text(end + 6, y + 4, f"{short_number(length)} m", anchor="start")


def key_words(view: FieldView, field: Field) -> Mapping[str, str]:
    """Return what each mark of a view means, by its class; only those that occur."""
    where = "where the machine was after each call"
    told = where if view.from_truth else f"{where}, as calls told it"
    words = {"stop": told} if len(field.stops) > 1 else {}
    if field.driven:
        words["way"] = "the way between" if view.from_truth else "the way that the rig reported"
    elif words:
        words["straight"] = "the way between is not drawn"
    if any(not note.harm for note in view.notes):
        words["dose"] = "an amount given"
    if field.moves:
        words["moved"] = "an object that moved"
    if any(note.harm for note in view.notes):
        words["cross"] = "harm"
    return words


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
