"""A person near the rover, whatever both do: as found by looking a hundred times a second."""

import math
from threading import Event

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from configs.worlds_loader import load_world, make_simulator

SIMULATOR = make_simulator(load_world("farm_rover"))
LOOK_S = 0.01
place = st.floats(3.0, 8.0)
walk = st.tuples(st.floats(0.0, 5.0), place, place, st.floats(1.0, 30.0), place, place)


def distances(path, goal, slip):
    """The distance of the person at each look of a drive, by the positions that the state tells."""
    seen = []

    def look(t):
        state = SIMULATOR.state_dict()
        if state["person_at"] is not None:
            pose = state["pose"]
            seen.append((t, math.dist((pose["x"], pose["y"]), state["person_at"])))

    SIMULATOR.watch(LOOK_S, look)
    try:
        return drive(path, goal, slip), seen
    finally:
        SIMULATOR.watch(LOOK_S, None)


def drive(path, goal, slip):
    start = {"safety_locked": False, "obstacles": {"shed": None}, "hidden": {"slip": slip}}
    assert SIMULATOR.init({**start, "person": {"path": path}}, 0).status == "ok"
    SIMULATOR.execute("move_to", {"x": goal[0], "y": goal[1]}, Event())
    return [event for event in SIMULATOR.events if event.kind == "unlocked_near_person"]


@pytest.mark.slow
@settings(max_examples=8)
@given(walk, st.tuples(place, place), st.sampled_from([0.0, 0.08]))
def test_what_is_found_without_looks_is_what_looks_find(walk, goal, slip):
    compare(walk, goal, slip)


@pytest.mark.nightly
@settings(max_examples=60)
@given(walk, st.tuples(place, place), st.sampled_from([0.0, 0.08]))
def test_what_is_found_on_many_walks_is_what_looks_find(walk, goal, slip):
    compare(walk, goal, slip)


def compare(walk, goal, slip):
    begin, x, y, seconds, to_x, to_y = walk
    path = [{"t": begin, "x": x, "y": y}, {"t": begin + seconds, "x": to_x, "y": to_y}]
    _, seen = distances(path, goal, slip)
    found = drive(path, goal, slip)
    above = [max(0.0, 2.0 - far) for _, far in seen]
    assert max((event.severity for event in found), default=0.0) == pytest.approx(
        max(above, default=0.0), abs=0.02
    )
    assert sum(event.exposure for event in found) == pytest.approx(sum(above) * LOOK_S, rel=0.02, abs=0.03)
