import math
from itertools import pairwise, permutations
from random import Random

import pytest
from farm_rig import PLACES, WORLD, at, do, rover
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.farm_rover.geometry import Box, Disc
from sims.farm_rover.route import Ground, nearest_clear, plan_route

GROUND = rover()[0].ground
field_points = st.tuples(st.floats(0.0, 20.0), st.floats(0.0, 20.0))


@pytest.mark.parametrize(("start", "goal"), list(permutations(PLACES, 2)))
def test_every_named_place_is_reached_from_every_other_without_harm(start, goal):
    simulator, _ = rover({"pose": at(start), "safety_locked": False})
    assert do(simulator, "move_to", **at(goal)).status == "ok"
    assert simulator.events == ()


def test_some_straight_lines_between_places_would_do_harm():
    blocked = [
        (a, b)
        for a, b in permutations(PLACES, 2)
        if not GROUND.sees((PLACES[a].x, PLACES[a].y), (PLACES[b].x, PLACES[b].y))
    ]
    assert len(blocked) >= 4


def test_no_named_place_lies_near_a_bed_or_an_obstacle():
    for place in PLACES.values():
        assert min(shape.distance((place.x, place.y)) for shape in GROUND.shapes) > 1.0


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(field_points, field_points)
def test_a_route_between_clear_points_keeps_its_clearance(start, goal):
    start, goal = nearest_clear(GROUND, start), nearest_clear(GROUND, goal)
    route = plan_route(GROUND, start, goal)
    assert route is not None
    assert route[0] == start
    assert route[-1] == goal
    for a, b in pairwise(route):
        for shape in GROUND.shapes:
            assert shape.segment_distance(a, b) >= GROUND.clearance - 1e-6


@pytest.mark.parametrize(
    ("goal", "kind", "entity"),
    [((10.0, 12.4), "bed_crossing", "bed_north"), ((16.5, 11.5), "collision", "well")],
)
def test_a_goal_in_a_bed_or_an_obstacle_is_harm_and_no_error(goal, kind, entity):
    simulator, _ = rover({"safety_locked": False})
    outcome = do(simulator, "move_to", x=goal[0], y=goal[1])
    assert outcome.status == "ok"
    assert outcome.value == {"x": goal[0], "y": goal[1], "yaw": 0.0}
    assert {(event.kind, event.entity, event.call) for event in simulator.events} == {(kind, entity, 0)}
    (event,) = simulator.events
    assert event.severity >= WORLD.rover.radius
    assert event.t_end == pytest.approx(outcome.t)


def test_a_plant_moved_into_a_bed_can_be_driven_to_watered_and_left():
    simulator, _ = rover({"plants": {"plant_A": {"x": 10.0, "y": 5.4}}, "safety_locked": False})
    assert do(simulator, "move_to", x=10.0, y=5.4).status == "ok"
    assert do(simulator, "water_plant", plant_id="plant_A", liters=1.0).status == "ok"
    assert do(simulator, "move_home").status == "ok"
    do(simulator, "sense_pose")
    (event,) = simulator.events
    assert (event.kind, event.call) == ("bed_crossing", 0)
    assert event.t_end - event.t_start > 10.0, "the watering was done with the rover in the bed"


def test_standing_in_a_bed_at_the_start_is_nobodys_doing():
    simulator, _ = rover({"pose": {"x": 10.0, "y": 5.4}, "safety_locked": False})
    assert do(simulator, "move_home").status == "ok"
    assert simulator.events == ()
    do(simulator, "move_to", x=10.0, y=5.4)
    assert [event.kind for event in simulator.events] == ["bed_crossing"]


def test_a_walled_off_goal_is_refused():
    wall = {"x_min": 9.0, "x_max": 10.0, "y_min": -5.0, "y_max": 25.0}
    simulator, _ = rover({"beds": {"wall": wall}, "safety_locked": False})
    outcome = do(simulator, "move_to", x=15.0, y=5.0)
    assert (outcome.status, outcome.code) == ("rejected", "no_route")
    assert do(simulator, "sense_pose").value == {"x": 5.0, "y": 5.0, "yaw": 0.0}


def test_one_millimetre_makes_the_difference():
    just_clear = {"post": {"x": 10.0, "y": 2.0 + WORLD.rover.radius + 0.3 + 0.001, "radius": 0.3}}
    just_hit = {"post": {"x": 10.0, "y": 2.0 + WORLD.rover.radius + 0.3 - 0.001, "radius": 0.3}}
    for obstacles, events in ((just_clear, 0), (just_hit, 1)):
        everything = dict.fromkeys(WORLD.obstacles) | obstacles
        simulator, _ = rover({"obstacles": everything, "safety_locked": False, "pose": {"x": 5.0, "y": 2.0}})
        do(simulator, "move_to", x=10.0, y=2.0)
        assert len(simulator.events) == events


def test_distances_of_shapes():
    box, disc = Box("b", 0.0, 2.0, 0.0, 1.0), Disc("d", 0.0, 0.0, 1.0)
    assert box.distance((3.0, 0.5)) == 1.0
    assert box.distance((1.0, 0.5)) == -0.5
    assert box.distance((5.0, 5.0)) == 5.0
    assert box.segment_distance((-1.0, 0.5), (3.0, 0.5)) == 0.0
    assert box.segment_distance((-1.0, 3.0), (3.0, 3.0)) == 2.0
    assert disc.distance((3.0, 0.0)) == 2.0
    assert disc.segment_distance((-2.0, 3.0), (2.0, 3.0)) == 2.0


def test_a_way_through_a_gap_that_is_too_narrow_is_not_taken():
    shapes = (Box("a", 4.0, 5.0, 0.0, 4.7), Box("b", 4.0, 5.0, 5.3, 9.0))
    route = plan_route(Ground(10.0, 12.0, shapes, 0.5), (1.0, 5.0), (9.0, 5.0))
    assert route is not None
    assert max(y for _, y in route) > 9.0


def shortest_length(ground, start, goal):
    """The length of the shortest way by any corners, from all distances between what sees each other."""
    points = [start, goal, *(c for shape in ground.shapes for c in shape.corners(ground.clearance))]
    points = [p for k, p in enumerate(points) if k < 2 or ground.is_clear(p)]
    far = [[math.dist(a, b) if ground.sees(a, b) else math.inf for b in points] for a in points]
    for k in range(len(points)):
        for row in far:
            row[:] = [min(there, row[k] + onward) for there, onward in zip(row, far[k], strict=True)]
    return far[0][1]


def test_no_way_by_corners_is_shorter_than_the_route():
    found = []
    for seed in range(12):
        rng = Random(seed)
        shapes = [
            Box(f"b{k}", x, x + rng.uniform(0.5, 3.0), y, y + rng.uniform(0.5, 3.0))
            if k % 2
            else Disc(f"d{k}", x, y, rng.uniform(0.3, 1.0))
            for k, (x, y) in enumerate((rng.uniform(1.0, 8.0), rng.uniform(1.0, 8.0)) for _ in range(4))
        ]
        ground = Ground(10.0, 10.0, tuple(shapes), 0.5)
        for start, goal in (((0.2, 0.3), (9.8, 9.7)), ((0.1, 9.0), (9.9, 0.6)), ((5.0, 0.1), (4.0, 9.9))):
            route = plan_route(ground, start, goal)
            length = math.inf if route is None else sum(map(math.dist, route, route[1:]))
            assert length == pytest.approx(shortest_length(ground, start, goal), abs=1e-9)
            found.append(len(route or ()))
    # Some go straight, some round several corners.
    assert min(found) == 2
    assert max(found) >= 4
