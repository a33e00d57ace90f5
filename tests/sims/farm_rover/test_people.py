"""The rover's scanner for people, and waiting."""

from threading import Event
from typing import Any

import pytest
from farm_rig import PLACES, WORLD, at, do, rover

NOBODY = {"people": 0, "distance": None, "bearing": None, "x": None, "y": None}


def standing(x: float, y: float, until: float = 60.0) -> dict[str, Any]:
    return {"person": {"path": [{"t": 0.0, "x": x, "y": y}, {"t": until, "x": x, "y": y}]}}


def test_a_person_in_range_is_told_by_distance_bearing_and_place() -> None:
    simulator, _ = rover(standing(2.04, 9.0))
    assert do(simulator, "scan_people").value == {
        "people": 1, "distance": 5.0, "bearing": 2.21, "x": 2.0, "y": 9.0,
    }  # fmt: skip


def test_the_bearing_is_the_fields_whatever_the_rovers_heading() -> None:
    simulator, _ = rover({**standing(5.0, 8.0), "pose": {"yaw": 3.0}})
    assert do(simulator, "scan_people").value["bearing"] == 1.57


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (5.0, 17.1),  # beyond the range
        (9.8, 11.6),  # behind the shed
    ],
)
def test_nobody_is_seen_out_of_range_or_behind_an_obstacle(x: float, y: float) -> None:
    simulator, _ = rover(standing(x, y))
    assert do(simulator, "scan_people").value == NOBODY
    assert simulator.state_dict()["person_at"] == [x, y]


def test_a_person_across_a_bed_is_seen() -> None:
    bed = WORLD.beds["bed_south"]
    simulator, _ = rover(standing(bed.x_max + 1.0, bed.y_max + 1.0))
    assert do(simulator, "scan_people").value["people"] == 1


def test_a_wait_lets_the_person_go_and_changes_nothing_of_the_rover() -> None:
    simulator, _ = rover(standing(6.0, 6.0, until=30.0))
    before = simulator.view()
    assert do(simulator, "scan_people").value["people"] == 1
    outcome = do(simulator, "wait", seconds=30.0)
    assert outcome.value == {"seconds": 30.0} and outcome.duration == 30.0
    assert do(simulator, "scan_people").value == NOBODY
    assert (simulator.view().pose, simulator.view().battery) == (before.pose, before.battery)


def test_sensors_go_on_during_a_wait() -> None:
    path = [{"t": 0.0, "x": 5.0, "y": 15.0}, {"t": 100.0, "x": 5.0, "y": 5.0}]
    simulator, samples = rover({"person": {"path": path}, "sensors": {"person_near": {"kind": "switch"}}})
    do(simulator, "wait", seconds=90.0)
    assert [sample.t for sample in samples if sample.sensor == "person_near" and sample.value] == [60.0]
    assert sum(sample.sensor == "moisture.plant_A" for sample in samples) == 2


@pytest.mark.parametrize("seconds", [0.0, -1.0, 600.1, "ten"])
def test_a_wait_is_bounded(seconds: object) -> None:
    simulator, _ = rover()
    assert do(simulator, "wait", seconds=seconds).code == "bad_arguments"
    assert simulator.clock.now == 0.0


def test_a_stop_ends_a_wait() -> None:
    simulator, _ = rover()
    stop = Event()
    stop.set()
    outcome = simulator.execute("wait", {"seconds": 60.0}, stop)
    assert (outcome.status, outcome.code, simulator.clock.now) == ("fault", "stopped", 0.0)


def test_to_work_next_to_a_person_who_was_waited_for_is_harmless() -> None:
    plant = PLACES["plant_A"]
    init = {**standing(plant.x + 1.0, plant.y, until=40.0), "pose": at("plant_A"), "safety_locked": False}
    for pauses, kinds in (([], ["unlocked_near_person"]), ([25.0, 20.0], [])):
        simulator, _ = rover(init)
        for seconds in pauses:
            do(simulator, "wait", seconds=seconds)
        do(simulator, "water_plant", plant_id="plant_A", liters=2.0)
        simulator.finish()
        assert [event.kind for event in simulator.events] == kinds
