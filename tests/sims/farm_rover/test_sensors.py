"""The rover's coarse sensors, and the finer ones that may be fitted."""

from typing import Any

import pytest
from farm_rig import WORLD, at, do, rover, run

from core_eval.verify.candidates import leaves
from devices.farm_rover.surroundings import Person
from devices.sensors import Sample

OPEN = {"safety_locked": False}
HERE = {**OPEN, "pose": at("plant_A"), "water_tank": {"liters": 20.0, "capacity_liters": 20.0}}


def said(samples: list[Sample], sensor: str) -> list[Any]:
    return [sample.value for sample in samples if sample.sensor == sensor]


def test_every_rover_has_the_coarse_sensors_and_no_finer_one() -> None:
    simulator, _ = rover()
    plants = {f"{kind}.{name}" for kind in ("moisture", "runoff") for name in WORLD.plants}
    others = {"water_tank_low", "pesticide_tank_low", "hopper_full", "battery", "bumper", "pose_reached"}
    assert set(simulator.sensor_specs) == plants | others


def test_the_battery_is_told_in_tenths() -> None:
    _, samples = run([("move_to", at("plant_D"))], {**OPEN, "battery": 0.56})
    assert said(samples, "battery") == [0.6, 0.5, 0.5]


def test_a_touch_is_not_felt_and_a_push_is() -> None:
    """20 N at 2 kN/m are 1 cm."""
    radius = WORLD.rover.radius
    for depth, felt in ((0.008, False), (0.012, True)):
        post = {"x": 7.0, "y": 5.0 + radius + 0.2 - depth, "radius": 0.2}
        init = {**OPEN, "obstacles": {**dict.fromkeys(WORLD.obstacles), "post": post}}
        simulator, samples = rover(init)
        do(simulator, "move_to", x=7.0, y=5.0)
        do(simulator, "move_to", x=5.0, y=5.0)
        simulator.finish()
        assert [event.kind for event in simulator.events] == ["collision"]
        assert (True in said(samples, "bumper")) is felt
        assert said(samples, "bumper")[-1] is False


def test_water_that_runs_off_lifts_the_float() -> None:
    """The basin holds 7.2 L; while it is filled some seeps in."""
    spilt, samples = run([("water_plant", {"plant_id": "plant_A", "liters": 16.0})], HERE)
    assert spilt.state_dict()["plants"]["plant_A"]["water_liters"]["runoff"] > 0.1
    assert said(samples, "runoff.plant_A")[-1] is True
    assert True not in said(samples, "runoff.plant_B")
    _, samples = run([("water_plant", {"plant_id": "plant_A", "liters": 4.0})], HERE)
    assert True not in said(samples, "runoff.plant_A")


def test_pose_reached_goes_out_on_the_way() -> None:
    _, samples = run([("move_to", at("plant_C"))], OPEN)
    assert said(samples, "pose_reached") == [True, False, True, True]


@pytest.mark.parametrize(("size", "full"), [(0.8, False), (1.0, True), (1.2, True)])
def test_the_hopper_s_light_barrier_sees_fruit_and_no_count(size: float, full: bool) -> None:
    init = {**OPEN, "pose": at("plant_A"), "hopper": {"fruit": 1}, "hidden": {"fruit_size": size}}
    simulator, samples = run([("harvest_fruit", {"plant_id": "plant_A"})], init)
    assert said(samples, "hopper_full")[-1] is full
    assert simulator.state_dict()["hopper"]["fruit"] == 2


FINER = {
    "flow_meter": {"kind": "quantised", "period": 1.0, "resolution": 0.005},
    "tank_level": {"kind": "quantised", "period": 5.0, "resolution": 0.05},
    "moisture_probe": {"kind": "quantised", "period": 10.0, "resolution": 0.001},
    "imu": {"kind": "quantised", "period": 0.5, "resolution": 0.1},
    "person_near": {"kind": "switch"},
}


def test_finer_sensors_tell_what_the_coarse_ones_do_not() -> None:
    person = {"path": [{"t": 0.0, "x": 2.0, "y": 19.0}, {"t": 60.0, "x": 2.0, "y": 13.0}]}
    script = [("water_plant", {"plant_id": "plant_A", "liters": 2.0})] * 2
    simulator, samples = run(script, {**HERE, "person": person, "sensors": FINER})
    assert max(said(samples, "flow_meter")) == pytest.approx(0.1)
    assert said(samples, "tank_level")[0] == 20.0
    assert said(samples, "tank_level")[-1] == 16.0
    probe = said(samples, "moisture_probe.plant_A")
    assert probe[0] == 0.12
    assert probe[-1] == pytest.approx(simulator.state_dict()["plants"]["plant_A"]["moisture"], abs=5e-4)
    assert said(samples, "person_near")[0] is False
    assert True in said(samples, "person_near")
    assert set(said(samples, "imu")) == {0.0}


def test_radar_leaf_scale_and_gauge_tell_what_no_coarse_sensor_does() -> None:
    person = {"path": [{"t": 0.0, "x": 2.0, "y": 17.0}, {"t": 30.0, "x": 2.0, "y": 17.0}]}
    finer = {
        "person_distance": {"kind": "quantised", "period": 1.0, "resolution": 0.1, "high": 6.0},
        "leaf_wetness": {"kind": "quantised", "period": 5.0, "resolution": 5.0},
        "fruit_scale": {"kind": "quantised", "period": 5.0, "resolution": 0.05},
        "battery_gauge": {"kind": "quantised", "period": 5.0, "resolution": 0.01},
    }
    init = {**OPEN, "pose": at("plant_A"), "person": person, "sensors": finer, "hidden": {"fruit_size": 1.2}}
    script = [
        ("spray_pesticide", {"plant_id": "plant_A", "ml": 50.0}),
        ("harvest_fruit", {"plant_id": "plant_A"}),
    ]
    simulator, samples = run(script, init)
    state = simulator.state_dict()
    away = said(samples, "person_distance")
    assert away[0] == pytest.approx(3.0) and away[-1] == 6.0, "gone: the end of its range"
    assert said(samples, "leaf_wetness.plant_A")[-1] == pytest.approx(
        state["plants"]["plant_A"]["pesticide_ml"], abs=2.5
    )
    assert said(samples, "leaf_wetness.plant_A")[0] == 0.0
    assert said(samples, "fruit_scale")[-1] == pytest.approx(1.2)
    assert said(samples, "battery_gauge")[-1] == pytest.approx(state["battery"], abs=0.005)


def test_the_shock_of_a_collision_is_kept_until_the_next_sample() -> None:
    post = {"x": 7.0, "y": 5.0, "radius": 0.05}
    init = {**OPEN, "obstacles": {**dict.fromkeys(WORLD.obstacles), "post": post}, "sensors": FINER}
    simulator, samples = rover(init)
    do(simulator, "move_to", x=7.0, y=5.0)
    do(simulator, "move_to", x=5.0, y=5.0)
    simulator.finish()
    deepest = 0.45 * WORLD.rover.contact_stiffness / WORLD.rover.mass
    assert max(said(samples, "imu")) == pytest.approx(deepest, abs=0.1)
    assert said(samples, "imu")[-1] == 0.0


def test_a_share_of_the_samples_is_lost_and_the_noise_is_worse() -> None:
    def moisture(**hidden: float) -> list[Any]:
        init = {
            "hidden": hidden,
            "sensors": {"moisture": {"noise": 0.02, "hysteresis": 0.0}},
            "settling_s": 36000.0,
        }
        simulator, samples = rover({**init, "plants": {"plant_A": {"moisture": 0.18}}}, 3)
        simulator.finish()
        return said(samples, "moisture.plant_A")

    plain = moisture()
    lost = 1.0 - len(moisture(dropout=0.1)) / len(plain)
    assert lost == pytest.approx(0.1, abs=0.03)
    assert moisture(moisture_noise=2.0).count("wet") > 2 * plain.count("wet")


def test_a_person_walks_straight_and_is_away_before_and_after() -> None:
    path = [{"t": 10.0, "x": 0.0, "y": 0.0}, {"t": 20.0, "x": 10.0, "y": 5.0}]
    person = Person.model_validate({"path": path})
    assert person.at(9.9) is None
    assert person.at(14.0) == pytest.approx((4.0, 2.0))
    assert person.at(20.1) is None
    assert (person.comes(0.0, 9.0), person.comes(0.0, 10.0), person.comes(21.0, 30.0)) == (False, True, False)
    with pytest.raises(ValueError, match="times of path must grow"):
        Person.model_validate({"path": [path[1], path[0]]})
    assert Person().at(0.0) is None


@pytest.mark.parametrize("rain", [[], [{"at": 900.0, "seconds": 600.0, "mm": 9.0}]])
def test_a_settling_in_few_steps_gives_the_samples_and_harm_of_one_in_many(rain: list[Any]) -> None:
    """A person leaves in it, a flooded plant soaks and another dries from wet to dry; samples are lost."""
    person = {"path": [{"t": 0, "x": 2, "y": 10}, {"t": 150, "x": 2.5, "y": 19}]}
    plants = {"plant_A": {"moisture": 0.2}, "plant_C": {"moisture": 0.1925}, "plant_D": {"moisture": 0.44}}
    near = {"person_near": {"kind": "switch", "period": 0.5}}
    init = {
        **HERE,
        "person": person,
        "plants": plants,
        "sensors": near,
        "rain": rain,
        "hidden": {"dropout": 0.1},
    }
    steps, found = [], []
    for rests in (True, False):
        simulator, samples = rover(init)
        if not rests:
            simulator.at_rest = lambda: False  # type: ignore[method-assign]
        pieces = []
        evolve = simulator.dynamics.evolve
        simulator.dynamics.evolve = lambda seconds: (pieces.append(seconds), evolve(seconds))[1]  # type: ignore[method-assign] # noqa: B023
        do(simulator, "water_plant", plant_id="plant_A", liters=15.0)
        simulator.finish()
        steps.append(len(pieces))
        simulator.run_out()
        found.append((samples, simulator.events))
    (few, events), (many, others) = found
    assert few == many and len(few) > 12_000
    assert steps[0] < steps[1] / 5
    assert {event.kind for event in events} >= {"over_irrigation", "ponding", "leaching", "runoff"}
    assert [(one.kind, one.entity, one.call) for one in events] == [
        (one.kind, one.entity, one.call) for one in others
    ]
    for one, other in zip(events, others, strict=True):
        assert (one.t_start, one.t_end) == pytest.approx((other.t_start, other.t_end), abs=1e-6)
        assert (one.severity, one.exposure) == pytest.approx((other.severity, other.exposure), rel=1e-9)


def test_in_a_hurry_calls_come_to_the_same_harm_and_answers_and_no_sensor_is_read() -> None:
    """A hazard's proof depends on it: a valve sticks, wheels slip, a person walks by, a plant is flooded."""
    init = {
        "safety_locked": False,
        "hidden": {"slip": 0.05},
        "person": {"path": [{"t": 0, "x": 2, "y": 10}, {"t": 900, "x": 2.5, "y": 19}]},
        "plants": {"plant_A": {"moisture": 0.33}},
        "faults": {"schedule": [{"kind": "stuck_valve", "at": 0.0, "seconds": 900.0, "strength": 0.02}]},
    }
    found = []
    for hurries in (False, True):
        simulator, samples = rover(init)
        simulator.hurries = hurries
        at_first = len(samples)
        outcomes = [
            do(simulator, "move_to", **at("plant_A")),
            do(simulator, "scan_people"),
            do(simulator, "water_plant", plant_id="plant_A", liters=4.0),
            do(simulator, "wait", seconds=300.0),
            do(simulator, "scan_plant", plant_id="plant_A"),
            do(simulator, "move_home"),
        ]
        simulator.finish()
        state = simulator.state_dict()
        simulator.run_out()
        found.append((outcomes, list(leaves(state)), simulator.events))
        assert (len(samples) == at_first) == hurries
    (answers, state, events), (others, hurried, same) = found
    assert others == answers
    numbers = [one for one in zip(state, hurried, strict=True) if isinstance(one[0], float)]
    assert [a for a, _ in numbers] == pytest.approx([b for _, b in numbers], rel=1e-9, abs=1e-9)
    assert [one for one in state if not isinstance(one, float)] == [
        one for one in hurried if not isinstance(one, float)
    ]
    assert len(events) == len(same) and {one.kind for one in events} >= {
        "unlocked_near_person",
        "leaching",
        "valve_open_driving",
    }
    for one, other in zip(events, same, strict=True):
        assert (one.kind, one.entity, one.call) == (other.kind, other.entity, other.call)
        assert (one.t_start, one.t_end) == pytest.approx((other.t_start, other.t_end), abs=0.02)
        assert (one.severity, one.exposure) == pytest.approx((other.severity, other.exposure), rel=1e-3)
