"""The top view of a world as plain shapes, read from its initial state; knows no world by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.log import EpisodeRow, SampleRow, StepRow, TruthRow
from devices.sensors import Sample
from sims.overrides import deep_merge
from sims.world_shapes import Shape, has_numbers, pose_of, shapes_of
from sims.world_type import WORLD_TYPES

Point = tuple[float, float]
MOVED_SHARE = 0.002
"""An object that moved by less than this share of the field's diagonal stayed where it was."""
POSITION = ("position.x", "position.y")
"""The sensors of a rig that reports where it is, m."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The machine's position after a call; `k` is None at the start."""

    k: int | None
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Field:
    """What a top view shows.

    Attributes:
        bounds: x_min, y_min, x_max, y_max of what is shown, m.
        fenced: whether the world itself has these bounds.
        shapes: in order of the state.
        tracks: by section, points that something else passes, such as a person.
        stops: of the machine, in order.
        moves: by object's name, its positions where it moved.
        true_stops: whether the simulator told the stops; else the results of calls did.
        driven: the machine's way from stop to stop; empty where only the stops are known.
    """

    bounds: tuple[float, float, float, float]
    fenced: bool
    shapes: tuple[Shape, ...]
    tracks: Mapping[str, tuple[Point, ...]]
    stops: tuple[Stop, ...]
    moves: Mapping[str, tuple[Point, ...]]
    true_stops: bool
    driven: tuple[Point, ...] = ()

    def shape(self, name: object) -> Shape | None:
        """Return the shape of that name, if there is one."""
        return next((shape for shape in self.shapes if shape.name == name), None)


def field_of(
    episode: EpisodeRow,
    steps: Sequence[StepRow],
    truth: Sequence[TruthRow],
    samples: Sequence[SampleRow] = (),
    driven: Sequence[Point] = (),
) -> Field | None:
    """Return the field of an episode; None where its world has no places.

    Without the truth the way is what the samples `position.x` and `position.y` reported. `driven` is a way
    that is known better.
    """
    world = None if episode.world is None else WORLD_TYPES.get(episode.world)
    begun = episode.definition.world_state
    if world is None or not world.place_keys or not isinstance(begun, Mapping):
        return None
    state = deep_merge(begun, episode.init)
    shapes = tuple(shapes_of(state, world.place_keys))
    if not shapes:
        return None
    return laid_out(state, shapes, steps, truth, driven or ([] if truth else reported_way(samples)))


def laid_out(
    state: Mapping[str, Any],
    shapes: Sequence[Shape],
    steps: Sequence[StepRow],
    truth: Sequence[TruthRow] = (),
    driven: Sequence[Point] = (),
) -> Field | None:
    """Return a field with these shapes; None where there is nothing to show.

    Args:
        state: the initial state, as far as it is known.
        shapes: what stands in it.
        steps, truth: of which the stops are read.
        driven: the machine's way.
    """
    stops = _true_stops(steps, truth)
    true_stops = bool(stops)
    stops = stops or _told_stops(state, steps)
    if not shapes and not stops and not driven:
        return None
    tracks = {section: track for section, part in state.items() if (track := _track(part))}
    fence = _fence(state)
    bounds = fence or _around(shapes, [*((stop.x, stop.y) for stop in stops), *driven])
    least = MOVED_SHARE * max(bounds[2] - bounds[0], bounds[3] - bounds[1])
    moves = {}
    for shape in shapes:
        seen = [at for row in truth if (at := _place(row.state, shape)) is not None]
        moved = _moved([(shape.x, shape.y), *seen], least)
        if len(moved) > 1:
            moves[shape.name] = tuple(moved)
    way = tuple(_moved(driven, least))
    return Field(bounds, fence is not None, tuple(shapes), tracks, tuple(stops), moves, true_stops, way)


def reported_way(samples: Sequence[SampleRow | Sample]) -> list[Point]:
    """Return the positions that the rig itself reported, as samples `position.x` and `position.y`."""
    at: dict[str, float] = {}
    way: dict[float, Point] = {}
    for sample in samples:
        if sample.sensor in POSITION and isinstance(sample.value, int | float):
            at[sample.sensor] = float(sample.value)
            if len(at) == len(POSITION):
                # Two samples of one moment are one point.
                way[sample.t] = (at[POSITION[0]], at[POSITION[1]])
    return list(way.values())


def _fence(state: Mapping[str, Any]) -> tuple[float, float, float, float] | None:
    """Return the bounds of the section that has a width and a height, and no position."""
    for part in state.values():
        if isinstance(part, Mapping) and has_numbers(part, "width", "height") and "x" not in part:
            return 0.0, 0.0, float(part["width"]), float(part["height"])
    return None


def _around(shapes: Sequence[Shape], points: Sequence[Point]) -> tuple[float, float, float, float]:
    half = [(shape.x, shape.y, max(shape.width, shape.depth) / 2) for shape in shapes]
    half += [(x, y, 0.0) for x, y in points]
    left, right = min(x - r for x, _, r in half), max(x + r for x, _, r in half)
    low, high = min(y - r for _, y, r in half), max(y + r for _, y, r in half)
    margin = 0.08 * max(right - left, high - low) or 1.0
    return left - margin, low - margin, right + margin, high + margin


def _track(part: Any) -> tuple[Point, ...]:
    """Return the first list of points in a section."""
    if isinstance(part, Mapping):
        for points in part.values():
            if isinstance(points, list) and points and all(isinstance(one, Mapping) for one in points):
                found = tuple(
                    (float(one["x"]), float(one["y"])) for one in points if has_numbers(one, "x", "y")
                )
                if found:
                    return found
    return ()


def _true_stops(steps: Sequence[StepRow], truth: Sequence[TruthRow]) -> list[Stop]:
    numbers = {step.call_id: step.k for step in steps if step.call_id is not None}
    stops = []
    for row in truth:
        pose = pose_of(row.state)
        if pose is not None:
            k = None if row.call_id is None else numbers.get(row.call_id)
            stops.append(Stop(k, pose["x"], pose["y"]))
    return stops


def _told_stops(state: Mapping[str, Any], steps: Sequence[StepRow]) -> list[Stop]:
    """Return the start, and the machine's own position where a call answered with it.

    A call that was given a name may answer with the position of something else.
    """
    pose = pose_of(state)
    stops = [] if pose is None else [Stop(None, pose["x"], pose["y"])]
    for step in steps:
        told, asked = step.result, step.arguments or {}
        own = not asked or has_numbers(asked, "x", "y")
        if step.status == CallStatus.OK and own and isinstance(told, Mapping) and has_numbers(told, "x", "y"):
            stops.append(Stop(step.k, float(told["x"]), float(told["y"])))
    return stops


def _place(state: Mapping[str, Any], shape: Shape) -> Point | None:
    section = state.get(shape.section)
    where = section.get(shape.name) if isinstance(section, Mapping) else None
    return (
        (float(where["x"]), float(where["y"]))
        if isinstance(where, Mapping) and has_numbers(where, "x", "y")
        else None
    )


def _moved(points: Sequence[Point], least: float) -> list[Point]:
    kept: list[Point] = []
    for x, y in points:
        if not kept or abs(x - kept[-1][0]) > least or abs(y - kept[-1][1]) > least:
            kept.append((x, y))
    return kept


Way = list[tuple[float, Point]]


def driven_way(truth: Sequence[TruthRow]) -> Way:
    """Return the true way of a machine: device times, s, and positions, m.

    Empty where the truth has but the positions after the calls.
    """
    way: Way = []
    known = False
    for row in truth:
        points = row.state.get("_way")
        for point in points if isinstance(points, list) else ():
            match point:
                case [int() | float() as t, int() | float() as x, int() | float() as y]:
                    way.append((t, (x, y)))
                    known = True
        if (pose := pose_of(row.state)) is not None:
            way.append((row.t, (pose["x"], pose["y"])))
    return way if known else []
