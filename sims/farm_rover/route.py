"""Routes round beds and obstacles: shortest path in a visibility graph of their grown corners.

Corners keep the clearance, so a path along them keeps the rover's footprint off every shape. A goal inside a
shape is still driven to: the last leg then enters that shape, and no other.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from devices.farm_rover import tolerances
from devices.farm_rover.world import FarmWorld
from sims.farm_rover.geometry import Point, Shape


@dataclass(frozen=True, slots=True)
class Ground:
    """The field as route planning needs it.

    Attributes:
        width, height: of the field, m.
        shapes: beds and obstacles.
        clearance: of the rover's centre from every shape, m.
        grown: each shape, with the sides of the box that encloses it and the clearance round it.
    """

    width: float
    height: float
    shapes: tuple[Shape, ...]
    clearance: float
    grown: tuple[tuple[Shape, float, float, float, float], ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        found = []
        for shape in self.shapes:
            x_min, x_max, y_min, y_max, radius = shape.extent
            out = radius + self.clearance
            found.append((shape, x_min - out, x_max + out, y_min - out, y_max + out))
        object.__setattr__(self, "grown", tuple(found))

    @classmethod
    def of(cls, world: FarmWorld, shapes: Iterable[Shape]) -> Ground:
        """Return the ground of a world with these shapes on it."""
        clearance = world.rover.radius + world.rover.clearance
        return cls(world.field.width, world.field.height, tuple(shapes), clearance)

    def contains(self, point: Point) -> bool:
        """Return whether the point lies in the field."""
        return 0.0 <= point[0] <= self.width and 0.0 <= point[1] <= self.height

    def is_clear(self, point: Point) -> bool:
        """Return whether the point lies in the field and keeps the clearance from every shape."""
        return self.contains(point) and all(
            shape.distance(point) >= self.clearance - tolerances.CLEARANCE for shape in self.shapes
        )

    def sees(self, a: Point, b: Point) -> bool:
        """Return whether the straight leg ab keeps the clearance, except from shapes too near to an end.

        It must not come nearer to those than that end is; from inside a shape, every leg is open.
        """
        (ax, ay), (bx, by) = a, b
        for shape, west, east, south, north in self.grown:
            # Most shapes are off the leg along an axis, which takes less time to see than a distance.
            if (
                (ax >= east and bx >= east)
                or (ax <= west and bx <= west)
                or (ay >= north and by >= north)
                or (ay <= south and by <= south)
            ):
                continue
            needed = min(self.clearance, max(0.0, min(shape.distance(a), shape.distance(b))))
            if needed > 0.0 and shape.segment_distance(a, b) < needed - tolerances.CLEARANCE:
                return False
        return True


@lru_cache(maxsize=64)
def _graph(ground: Ground) -> tuple[tuple[Point, ...], tuple[tuple[tuple[int, float], ...], ...]]:
    """Return the free corners of all grown shapes, and for each the visible corners with their distances."""
    nodes = tuple(
        corner
        for shape in ground.shapes
        for corner in shape.corners(ground.clearance)
        if ground.is_clear(corner)
    )
    edges: list[list[tuple[int, float]]] = [[] for _ in nodes]
    for i, a in enumerate(nodes):
        for j in range(i + 1, len(nodes)):
            if ground.sees(a, nodes[j]):
                length = math.dist(a, nodes[j])
                edges[i].append((j, length))
                edges[j].append((i, length))
    return nodes, tuple(tuple(row) for row in edges)


@lru_cache(maxsize=256)
def _seen_from(ground: Ground, goal: Point) -> dict[int, bool]:
    """Return which corners see a goal, by place, as far as it is known by now; routes add to it."""
    return {}


@lru_cache(maxsize=4096)
def plan_route(ground: Ground, start: Point, goal: Point) -> tuple[Point, ...] | None:
    """Return the corners of the shortest route, start and goal included; None where there is none."""
    if ground.sees(start, goal):
        return (start, goal)
    nodes, edges = _graph(ground)
    seen = _seen_from(ground, goal)
    came_from: dict[int, int] = {}
    queue = [(math.dist(start, node), i, -1) for i, node in enumerate(nodes)]
    heapq.heapify(queue)
    shortest, last = math.inf, -1
    while queue:
        length, node, before = heapq.heappop(queue)
        if length >= shortest:
            break
        # What is seen from start and goal is only found out of corners that may be on the route.
        if node in came_from or (before < 0 and not ground.sees(start, nodes[node])):
            continue
        came_from[node] = before
        whole = length + math.dist(nodes[node], goal)
        if whole < shortest:
            if node not in seen:
                seen[node] = ground.sees(nodes[node], goal)
            if seen[node]:
                shortest, last = whole, node
        for after, step in edges[node]:
            if after not in came_from:
                heapq.heappush(queue, (length + step, after, node))
    if last < 0:
        return None
    corners = [goal]
    while last >= 0:
        corners.append(nodes[last])
        last = came_from[last]
    return (start, *reversed(corners))


def nearest_clear(ground: Ground, goal: Point) -> Point:
    """Return the nearest place to the goal at which the rover touches nothing; a clear goal itself."""
    if ground.is_clear(goal):
        return goal
    places = [place for shape in ground.shapes for place in shape.nearest_clear(goal, ground.clearance)]
    places += _graph(ground)[0]
    clear = [place for place in places if ground.is_clear(place)]
    return min(clear, key=lambda place: (math.dist(place, goal), place), default=goal)
