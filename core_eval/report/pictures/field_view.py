"""Draws the top view of an episode: the field, where the machine went, doses, moved objects and harm."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from core_eval.log import HarmRow, StepRow
from core_eval.path.calls import CallStatus, StepKind
from core_eval.report.pictures.field_shapes import Field, Point
from core_eval.report.pictures.label_places import LabelPlaces
from core_eval.report.pictures.svg_parts import short_number, text, ticks
from sims.world_shapes import Shape

WIDTH, TALLEST = 330.0, 400.0
"""In a phone's page one unit is about one pixel, so letters keep their size."""
BELOW = 20.0
CLEAR = 6.0
"""Distance of the points on the way that are kept clear of labels, in the drawing's units."""


@dataclass(frozen=True, slots=True)
class Note:
    """A line below the map: the step that it is of, and whether it is harm."""

    k: int | None
    words: str
    harm: bool


@dataclass(frozen=True, slots=True)
class FieldView:
    """A top view and its notes."""

    svg: str
    notes: tuple[Note, ...]
    from_truth: bool


class _Map:
    """Positions on the field, m, to places on the drawing; y upwards."""

    def __init__(self, field: Field) -> None:
        self.left, self.low, right, high = field.bounds
        self.scale = min(WIDTH / (right - self.left), TALLEST / (high - self.low))
        self.width, self.height = (right - self.left) * self.scale, (high - self.low) * self.scale
        self.labels = LabelPlaces(self.width, self.height)

    def at(self, x: float, y: float) -> Point:
        return (x - self.left) * self.scale, self.height - (y - self.low) * self.scale


def field_view(field: Field, steps: Sequence[StepRow], harm: Sequence[HarmRow]) -> FieldView:
    """Return the drawing; it takes its colours from the page."""
    on = _Map(field)
    harmful = {step.k for step in steps if step.kind == StepKind.HARMFUL} | {event.k for event in harm}
    shapes, names = _shapes(field, on)
    moves = _moves(field, on)
    way, numbers = _way(field, on, harmful)
    doses = [dose for step in steps for dose in _doses(field, step)]
    drops, crosses = [], []
    for shape, _ in doses:
        x, y = on.at(*_last(field, shape))
        drops.append(f'<path class="dose" d="M{x:.1f} {y - 7:.1f}l5 7a5 5 0 1 1 -10 0z"/>')
    for event in harm:
        spot = _spot(field, event)
        if spot is not None:
            x, y = on.at(*spot)
            on.labels.keep_clear(x, y, 7)
            crosses.append(f'<path class="cross" d="M{x - 6:.1f} {y - 6:.1f}l12 12m0 -12l-12 12"/>')
    # What matters most gets its label first: the numbers of calls, then harm, then names.
    labels = [on.labels.add(x, y, words, kind, 5) for x, y, words, kind in numbers]
    labels += [on.labels.add(*name) for name in names]
    notes = [
        *(Note(note.k, note.words, harm=False) for _, note in doses),
        *(Note(event.k, _harm_words(event), harm=True) for event in harm),
    ]
    notes.sort(key=lambda note: (math.inf if note.k is None else note.k, note.harm))
    svg = "".join(
        [
            f'<svg class="field" viewBox="0 0 {max(on.width, WIDTH):.0f} {on.height + BELOW:.0f}" role="img" '
            'aria-label="top view of the field">',
            f'<rect class="{"fence" if field.fenced else "ground"}" x="0.5" y="0.5" '
            f'width="{on.width - 1:.1f}" height="{on.height - 1:.1f}"/>',
            *shapes,
            *moves,
            *drops,
            *way,
            *crosses,
            *labels,
            *_ruler(on),
            "</svg>",
        ]
    )
    return FieldView(svg, tuple(notes), field.true_stops)


def _shapes(field: Field, on: _Map) -> tuple[list[str], list[tuple[float, float, str, str, float, float]]]:
    parts, names = [], []
    places = {shape.section for shape in field.shapes if not shape.width}
    for shape in sorted(field.shapes, key=lambda shape: -shape.width * shape.depth):
        x, y = on.at(shape.x, shape.y)
        wide, deep = shape.width * on.scale, shape.depth * on.scale
        # Things that calls act on are drawn otherwise than what stands in the way.
        kind = "thing" if shape.name in field.moves else "place" if shape.section in places else "solid"
        if not shape.width:
            parts.append(f'<rect class="place" x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>')
            on.labels.keep_clear(x, y, 4)
        elif shape.round:
            parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{wide / 2:.1f}"/>')
        else:
            turn = f' transform="rotate({-math.degrees(shape.yaw):.1f} {x:.1f} {y:.1f})"' if shape.yaw else ""
            parts.append(
                f'<rect class="{kind}" x="{x - wide / 2:.1f}" y="{y - deep / 2:.1f}" '
                f'width="{wide:.1f}" height="{deep:.1f}"{turn}/>'
            )
        half = (_turned(wide, deep, shape.yaw), _turned(deep, wide, shape.yaw)) if shape.width else (4.0, 4.0)
        names.append((x, y, shape.name, "name", *half))
    for name, track in field.tracks.items():
        line = "L".join("{:.1f} {:.1f}".format(*on.at(*point)) for point in track)
        parts.append(f'<path class="track" d="M{line}"/>')
        names.append((*on.at(*track[0]), name, "name", 2.0, 2.0))
    return parts, names


def _turned(along: float, across: float, yaw: float) -> float:
    """Return half the extent of a turned rectangle along its first axis."""
    return (abs(math.cos(yaw)) * along + abs(math.sin(yaw)) * across) / 2


def _moves(field: Field, on: _Map) -> list[str]:
    parts = []
    for name, points in field.moves.items():
        line = "L".join("{:.1f} {:.1f}".format(*on.at(*point)) for point in points)
        parts.append(f'<path class="moved" d="M{line}"/>')
        shape = field.shape(name)
        x, y = on.at(*points[-1])
        size = max(3.0, (shape.width if shape else 0.0) * on.scale / 2)
        parts.append(f'<circle class="there" cx="{x:.1f}" cy="{y:.1f}" r="{min(size, 6.0):.1f}"/>')
    return parts


def _way(
    field: Field, on: _Map, harmful: set[int | None]
) -> tuple[list[str], list[tuple[float, float, str, str]]]:
    """Return the line, the stops on it, and the numbers of the calls at each."""
    by_place: dict[Point, list[int]] = {}
    for stop in field.stops:
        x, y = on.at(stop.x, stop.y)
        calls = by_place.setdefault((round(x), round(y)), [])
        if stop.k is not None:
            calls.append(stop.k)
    kind = "way" if field.driven else "way straight"
    way = field.driven or [(stop.x, stop.y) for stop in field.stops]
    points = [on.at(*point) for point in way]
    line = [words for words, _ in groupby(f"{x:.1f} {y:.1f}" for x, y in points)]
    # No label is struck through by the way.
    for (ax, ay), (bx, by) in pairwise(points):
        steps = max(1, round(math.dist((ax, ay), (bx, by)) / CLEAR))
        for step in range(steps + 1):
            on.labels.keep_clear(ax + (bx - ax) * step / steps, ay + (by - ay) * step / steps, 1.5)
    parts = []
    if len(line) > 1:
        parts.append(f'<path class="{kind}" d="M{"L".join(line)}"/>')
    numbers = []
    for place, ((x, y), calls) in enumerate(by_place.items()):
        bad = any(k in harmful for k in calls)
        kind = "stop bad" if bad else "stop"
        parts.append(f'<circle class="{kind}{"" if place else " start"}" cx="{x}" cy="{y}" r="5"/>')
        on.labels.keep_clear(x, y, 5)
        if calls:
            numbers.append((float(x), float(y), ranges(calls), "number bad" if bad else "number"))
    return parts, numbers


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
    amounts = [f"{key} {short_number(value)}" for key, value in step.arguments.items() if _amount(value)]
    named = [field.shape(value) for value in step.arguments.values() if isinstance(value, str)]
    words = f"{step.tool}: {', '.join(amounts)}"
    return [
        (shape, Note(step.k, f"{words} to {shape.name}", harm=False)) for shape in named if shape and amounts
    ]


def _amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


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


def _ruler(on: _Map) -> list[str]:
    """Return a round length in metres, below the map."""
    length = ticks(0.0, max(on.width, WIDTH) / on.scale, 6)[0]
    y = on.height + 10
    end = 2 + length * on.scale
    words = f"{short_number(length)} m"
    return [
        f'<path class="ruler" d="M2 {y - 3:.1f}v6m0 -3H{end:.1f}m0 -3v6"/>',
        text(end + 6, y + 4, words, "faint", "start"),
    ]


def key_words(view: FieldView, field: Field) -> Mapping[str, str]:
    """Return what each mark of a view means, by its class; only those that occur."""
    where = "where the machine was after each call"
    told = where if view.from_truth else f"{where}, as calls told it"
    words = {"stop": told} if len(field.stops) > 1 else {}
    if field.driven:
        words["way"] = "the way between" if view.from_truth else "the way that the rig reported"
    elif words:
        words["straight"] = "the way between is not known"
    if any(not note.harm for note in view.notes):
        words["dose"] = "an amount given"
    if field.moves:
        words["moved"] = "an object that moved"
    if any(note.harm for note in view.notes):
        words["cross"] = "harm"
    return words
