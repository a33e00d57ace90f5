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


class _Graph:
    """The free corners of all grown shapes of a ground, and what they see, as far as it is known by now."""

    def __init__(self, ground: Ground) -> None:
        self.nodes = tuple(
            corner
            for shape in ground.shapes
            for corner in shape.corners(ground.clearance)
            if ground.is_clear(corner)
        )
        self._ground, self._edges = ground, dict[int, list[tuple[int, float]]]()

    def edges(self, node: int) -> list[tuple[int, float]]:
        """Return the corners that a corner sees, with their distances."""
        if node not in self._edges:
            here, sees = self.nodes[node], self._ground.sees
            others = (i for i in range(len(self.nodes)) if i != node)
            self._edges[node] = [
                (i, math.dist(here, self.nodes[i]))
                for i in others
                if sees(self.nodes[min(i, node)], self.nodes[max(i, node)])
            ]
        return self._edges[node]


@lru_cache(maxsize=64)
def _graph(ground: Ground) -> _Graph:
    return _Graph(ground)


@lru_cache(maxsize=256)
def _seen_from(ground: Ground, goal: Point) -> dict[int, bool]:
    """Return which corners see a goal, by place, as far as it is known by now; routes add to it."""
    return {}


@lru_cache(maxsize=4096)
def plan_route(ground: Ground, start: Point, goal: Point) -> tuple[Point, ...] | None:
    """Return the corners of the shortest route (A*), start and goal included; None where there is none."""
    if ground.sees(start, goal):
        return (start, goal)
    graph, seen = _graph(ground), _seen_from(ground, goal)
    nodes, left = graph.nodes, [math.dist(node, goal) for node in graph.nodes]
    came_from: dict[int, int] = {}
    # The least possible length by way of a corner, and the length up to it.
    queue = [
        (math.dist(start, node) + left[i], math.dist(start, node), i, -1) for i, node in enumerate(nodes)
    ]
    heapq.heapify(queue)
    while queue:
        _, length, node, before = heapq.heappop(queue)
        # What is seen is only found out of corners that may be on the route.
        if node in came_from or (before < 0 and not ground.sees(start, nodes[node])):
            continue
        came_from[node] = before
        if node not in seen:
            seen[node] = ground.sees(nodes[node], goal)
        if seen[node]:
            corners = [goal]
            while node >= 0:
                corners.append(nodes[node])
                node = came_from[node]
            return (start, *reversed(corners))
        for after, step in graph.edges(node):
            if after not in came_from:
                heapq.heappush(queue, (length + step + left[after], length + step, after, node))
    return None


def nearest_clear(ground: Ground, goal: Point) -> Point:
    """Return the nearest place to the goal at which the rover touches nothing; a clear goal itself."""
    if ground.is_clear(goal):
        return goal
    places = [place for shape in ground.shapes for place in shape.nearest_clear(goal, ground.clearance)]
    places += _graph(ground).nodes
    clear = [place for place in places if ground.is_clear(place)]
    return min(clear, key=lambda place: (math.dist(place, goal), place), default=goal)
