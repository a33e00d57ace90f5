"""What a rover does not know of itself: hidden parameters and faults change the world, not what it says."""

import math
from threading import Event
from typing import Any

import pytest
from farm_rig import WORLD, Script, at, do, rover, run

from devices.hidden import hidden_parameters
from sims.farm_rover.simulator import FarmSimulator

OPEN = {"safety_locked": False}
CALM = {"wind": {"speed": 0.0}}
HERE = {**OPEN, **CALM, "pose": at("plant_A")}
WATER = ("water_plant", {"plant_id": "plant_A", "liters": 2.0})
ROUND: Script = [
    ("unlock_safety_mode", {}),
    ("move_to", at("plant_A")),
    ("water_plant", {"plant_id": "plant_A", "liters": 4.5}),
    ("spray_pesticide", {"plant_id": "plant_A", "ml": 50.0}),
    ("move_to", at("plant_C")),
    ("harvest_fruit", {"plant_id": "plant_C"}),
    ("sense_hopper", {}),
    ("move_to", at("water_station")),
    ("refill_water_tank", {}),
    ("lock_safety_mode", {}),
]


def answers(hidden: dict[str, float]) -> list[Any]:
    simulator, _ = rover({"hidden": hidden})
    return [do(simulator, tool, **arguments).value for tool, arguments in ROUND]


def hidden_fault(
    kind: str, strength: float, at_s: float = 0.0, seconds: float | None = None
) -> dict[str, Any]:
    return {"faults": {"schedule": [{"kind": kind, "at": at_s, "seconds": seconds, "strength": strength}]}}


@pytest.mark.parametrize("parameter", hidden_parameters(type(WORLD.hidden)), ids=lambda p: p.name)
@pytest.mark.parametrize("end", ["low", "high"])
def test_the_rover_says_the_same_whatever_it_does_not_know(parameter: Any, end: str) -> None:
    if parameter.name != "slip":
        assert answers({parameter.name: getattr(parameter, end)}) == answers({})
        return
    for ours, theirs in zip(answers({"slip": getattr(parameter, end)}), answers({}), strict=True):
        for key, value in theirs.items():
            # A rover that slips comes to rest within a centimetre of its goal, and tells where it is.
            near = isinstance(value, float)
            assert ours[key] == (pytest.approx(value, abs=0.011) if near else value)


@pytest.mark.parametrize("parameter", hidden_parameters(type(WORLD.hidden)), ids=lambda p: p.name)
def test_every_hidden_parameter_has_an_effect(parameter: Any) -> None:
    init = {"sensors": {"moisture": {"noise": 0.05}}, "plants": {"plant_A": {"moisture": 0.3}}}

    def world(hidden: dict[str, float]) -> Any:
        simulator, samples = run(ROUND, {**init, "hidden": hidden})
        return simulator.state_dict(), samples

    assert world({parameter.name: parameter.high}) != world({})
    assert world({parameter.name: parameter.nominal}) == world({})


@pytest.mark.parametrize("factor", [0.8, 1.0, 1.2])
def test_true_doses_go_with_the_flow_and_the_book_does_not(factor: float) -> None:
    init = {**HERE, "hidden": {"water_flow": factor, "pesticide_flow": factor}}
    simulator, _ = run([WATER, ("spray_pesticide", {"plant_id": "plant_A", "ml": 40.0})], init)
    state = simulator.state_dict()
    assert state["plants"]["plant_A"]["water_liters"]["applied"] == pytest.approx(2.0 * factor)
    assert state["plants"]["plant_A"]["pesticide_ml"] == pytest.approx(40.0 * factor)
    assert state["water_tank"]["liters"] == pytest.approx(5.0 - 2.0 * factor)
    assert state["water_tank"]["booked_liters"] == 3.0
    assert state["pesticide_tank"]["booked_ml"] == 210.0


def test_a_refill_sets_the_book_right() -> None:
    init = {**HERE, "hidden": {"water_flow": 0.8}}
    simulator, _ = run([WATER, ("move_to", at("water_station")), ("refill_water_tank", {})], init)
    tank = simulator.state_dict()["water_tank"]
    assert tank["liters"] == tank["booked_liters"] == 5.0
    assert tank["filled_liters"] == pytest.approx(1.6)


def test_pests_that_get_too_little_stay() -> None:
    """5 ml rid a plant of them; the rover believes to give 6."""
    for factor, pests in ((0.8, True), (1.0, False)):
        init = {**HERE, "hidden": {"pesticide_flow": factor}}
        simulator, _ = run([("spray_pesticide", {"plant_id": "plant_A", "ml": 6.0})], init)
        assert simulator.state_dict()["plants"]["plant_A"]["pests"] is pests


def test_slow_infiltration_lets_the_same_water_stand_deeper() -> None:
    def pond(factor: float) -> float:
        simulator, _ = rover({**HERE, "hidden": {"infiltration": factor}})
        do(simulator, WATER[0], **WATER[1])
        return float(simulator.state_dict()["plants"]["plant_A"]["pond_mm"])

    assert pond(2.0) < pond(1.0) < pond(0.5)


def test_slip_costs_the_charge_and_the_time_of_the_way_that_is_lost() -> None:
    straight = {**OPEN, "pose": {"x": 5.0, "y": 3.0}, "beds": {"bed_south": None}}
    drive = ("move_to", {"x": 15.0, "y": 3.0})

    def cost(slip: float) -> tuple[float, float, dict[str, float]]:
        simulator, _ = rover({**straight, "hidden": {"slip": slip}})
        outcome = do(simulator, drive[0], **drive[1])
        state = simulator.state_dict()
        return outcome.duration, 1.0 - state["battery"], state["pose"]

    time, charge, _ = cost(0.0)
    slow, more, pose = cost(0.1)
    # A geometric series: each leg falls a tenth short, until a centimetre is left.
    wheel_way = 10.0 + 1.0 + 0.1
    turns = 2 * 0.1 * WORLD.rover.turn_charge_per_rad
    assert more == pytest.approx(wheel_way * WORLD.rover.drive_charge_per_m, abs=turns + 1e-4)
    assert more > charge == pytest.approx(10.0 * WORLD.rover.drive_charge_per_m)
    assert slow > time
    assert math.hypot(pose["x"] - 15.0, pose["y"] - 3.0) <= 0.02


def test_a_leg_on_slipping_wheels_bends_to_the_left() -> None:
    """The drift of `side_slip` times the lost way: a post on the left is touched, one on the right is not."""
    radius = WORLD.rover.radius
    for side, kinds in ((1.0, ["collision"]), (-1.0, [])):
        post = {"x": 14.0, "y": 3.0 + side * (radius + 0.2 + 0.16), "radius": 0.2}
        init = {
            **OPEN,
            "pose": {"x": 3.0, "y": 3.0},
            "beds": dict.fromkeys(WORLD.beds),
            "obstacles": {**dict.fromkeys(WORLD.obstacles), "post": post},
            **hidden_fault("wheel_slip", 0.3),
        }
        simulator, _ = run([("move_to", {"x": 19.0, "y": 3.0})], init)
        assert [event.kind for event in simulator.events][:1] == kinds


def test_wheels_that_only_spin_let_the_rover_slide_and_it_says_where_it_is() -> None:
    simulator, samples = rover({**OPEN, **hidden_fault("wheel_slip", 1.0)})
    outcome = do(simulator, "move_to", x=8.0, y=5.0)
    assert outcome.status == "ok"
    state = simulator.state_dict()
    wheel_way = (1.0 - state["battery"]) / WORLD.rover.drive_charge_per_m
    slid = math.hypot(state["pose"]["x"] - 5.0, state["pose"]["y"] - 5.0)
    assert 0.0 < slid <= WORLD.rover.side_slip * wheel_way
    assert outcome.value == {key: round(value, 3) for key, value in state["pose"].items()}
    simulator.finish()
    assert next(s.value for s in reversed(samples) if s.sensor == "pose_reached") is False


def test_slip_that_comes_and_goes_on_the_way_is_replayed_in_the_same_time() -> None:
    init = {**OPEN, **hidden_fault("wheel_slip", 0.5, 3.0, 4.0)}
    script: Script = [("move_to", at("plant_C")), ("move_to", at("base"))]
    first, _ = rover(init)
    durations = [do(first, tool, **arguments).duration for tool, arguments in script]
    again, _ = rover(init)
    for (tool, arguments), duration in zip(script, durations, strict=True):
        outcome = again.execute(tool, arguments, Event(), forced=True, duration=duration)
        assert outcome.duration == duration
    assert again.state_dict() == first.state_dict()


@pytest.mark.parametrize("seed", range(6))
def test_a_forced_drive_whose_slip_changes_on_the_way_is_the_same_drive(seed: int) -> None:
    """A slip of now that ends soon, or one yet to come, must not make the unchanged drive hurry."""
    rate = {"kind": "wheel_slip", "per_hour": 300.0, "seconds": 5.0, "strength": [0.1, 0.6]}
    simulator = FarmSimulator(WORLD, seed)
    init = {**OPEN, "hidden": {"slip": 0.03}, "faults": {"random": [rate]}}
    assert simulator.init(init, seed).status == "ok"
    do(simulator, "unlock_safety_mode")
    for plant in ("plant_D", "plant_A"):
        before = simulator.snapshot()
        drive = do(simulator, "move_to", **at(plant))
        state = simulator.state_dict()
        simulator.restore(before)
        again = simulator.execute("move_to", at(plant), Event(), forced=True, duration=drive.duration)
        assert (again.status, again.duration) == ("ok", drive.duration)
        assert simulator.state_dict() == state


def test_a_clogged_nozzle_gives_less_while_it_is_clogged() -> None:
    half = hidden_fault("clogged_nozzle", 0.5, 5.0, 10.0)
    simulator, _ = run([WATER], {**HERE, **half})
    applied = simulator.state_dict()["plants"]["plant_A"]["water_liters"]["applied"]
    assert applied == pytest.approx(2.0 - 0.5 * 0.1 * 10.0)


def test_a_stuck_valve_goes_on_until_the_fault_ends() -> None:
    stuck = hidden_fault("stuck_valve", 0.1, 0.0, 30.0)
    script: Script = [WATER, *[("sense_pose", {})] * 100]
    simulator, _ = run(script, {**HERE, **stuck})
    applied = simulator.state_dict()["plants"]["plant_A"]["water_liters"]["applied"]
    assert applied == pytest.approx(2.0 + 0.1 * 0.1 * (30.0 - 20.0))


def test_a_valve_that_was_closed_before_the_fault_stays_closed() -> None:
    stuck = hidden_fault("stuck_valve", 0.5, 25.0)
    simulator, _ = run([WATER, *[("sense_pose", {})] * 100], {**HERE, **stuck})
    assert simulator.state_dict()["plants"]["plant_A"]["water_liters"]["applied"] == pytest.approx(2.0)


def test_what_drips_while_it_drives_falls_on_bare_ground() -> None:
    stuck = hidden_fault("stuck_valve", 0.1, 0.0)
    simulator, _ = rover({**HERE, **stuck})
    do(simulator, *WATER[:1], **WATER[1])
    before = simulator.state_dict()
    drive = do(simulator, "move_to", x=2.0, y=18.0)
    state = simulator.state_dict()
    assert state["water_tank"]["spilled_liters"] == pytest.approx(0.01 * drive.duration)
    plants = (before["plants"]["plant_A"], state["plants"]["plant_A"])
    assert plants[0]["water_liters"]["applied"] == plants[1]["water_liters"]["applied"]
    (event,) = simulator.events
    assert (event.kind, event.entity, event.call) == ("valve_open_driving", "water", 1)
    assert event.severity == pytest.approx(0.01)
    assert event.exposure == pytest.approx(0.01 * drive.duration)


def test_the_wind_carries_spray_to_the_plant_that_lies_downwind() -> None:
    def on(towards: float) -> dict[str, float]:
        wind = {"speed": 3.0, "towards": towards}
        simulator, _ = run(
            [("spray_pesticide", {"plant_id": "plant_A", "ml": 100.0})], {**HERE, "wind": wind}
        )
        return {name: plant["pesticide_ml"] for name, plant in simulator.state_dict()["plants"].items()}

    downwind, upwind = on(-math.pi / 4), on(3 * math.pi / 4)
    apart = math.hypot(1.5, 1.5)
    assert downwind["plant_B"] == pytest.approx(100.0 * 0.027593 * apart**-0.9778)
    assert upwind["plant_B"] == 0.0
    assert sum(downwind.values()) == pytest.approx(100.0)


@pytest.mark.parametrize("slip", [0.0, 0.03, 0.1])
def test_a_twin_with_another_slip_arrives_when_the_rover_did(slip: float) -> None:
    """A drive that must take a recorded time ends at its goal, whatever the slip is believed to be."""
    script: Script = [("move_to", at("plant_D")), ("move_to", at("plant_A")), ("move_home", {})]
    real, _ = rover({**OPEN, "hidden": {"slip": 0.05}})
    durations = [do(real, tool, **arguments).duration for tool, arguments in script]
    twin, _ = rover({**OPEN, "hidden": {"slip": slip}})
    for (tool, arguments), duration, place in zip(
        script, durations, ("plant_D", "plant_A", "base"), strict=True
    ):
        outcome = twin.execute(tool, arguments, Event(), forced=True, duration=duration)
        assert outcome.duration == pytest.approx(duration, abs=1e-9)
        pose = twin.state_dict()["pose"]
        assert math.hypot(pose["x"] - at(place)["x"], pose["y"] - at(place)["y"]) < 0.02
