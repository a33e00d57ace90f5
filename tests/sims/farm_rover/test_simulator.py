from itertools import pairwise
from threading import Event

import pytest
from farm_rig import PLACES, WORLD, at, do, rover, run

from devices.farm_rover.tools import FARM_ROVER
from sims.farm_rover.simulator import FarmSimulator

OPEN = {"safety_locked": False}
WET = {"moisture": 0.25}


def at_plant(name: str, **plant) -> dict:
    return {**OPEN, "pose": at(name), "plants": {name: plant}}


def water(name: str, liters: float) -> tuple[str, dict]:
    return "water_plant", {"plant_id": name, "liters": liters}


@pytest.mark.parametrize(
    ("init", "tool", "arguments", "code"),
    [
        ({}, "move_to", at("plant_A"), "safety_locked"),
        ({}, "move_home", {}, "safety_locked"),
        ({"pose": at("plant_A")}, *water("plant_A", 1.0), "safety_locked"),
        ({"pose": at("plant_A")}, "spray_pesticide", {"plant_id": "plant_A", "ml": 5.0}, "safety_locked"),
        ({"pose": at("plant_A")}, "harvest_fruit", {"plant_id": "plant_A"}, "safety_locked"),
        ({"pose": at("collection_bin")}, "dump_hopper", {}, "safety_locked"),
        (OPEN, *water("plant_A", 1.0), "too_far"),
        (OPEN, "spray_pesticide", {"plant_id": "plant_A", "ml": 5.0}, "too_far"),
        (OPEN, "harvest_fruit", {"plant_id": "plant_A"}, "too_far"),
        (OPEN, "dump_hopper", {}, "too_far"),
        (OPEN, "refill_water_tank", {}, "too_far"),
        (OPEN, "refill_pesticide", {}, "too_far"),
        (OPEN, "recharge", {}, "too_far"),
        (
            {**at_plant("plant_A"), "water_tank": {"liters": 0.5}},
            *water("plant_A", 1.0),
            "not_enough_in_tank",
        ),
        ({**at_plant("plant_A"), "water_tank": {"liters": 0.0}}, *water("plant_A", 1.0), "tank_empty"),
        (
            {**at_plant("plant_A"), "pesticide_tank": {"ml": 0.0}},
            "spray_pesticide",
            {"plant_id": "plant_A", "ml": 1.0},
            "tank_empty",
        ),
        (
            {**at_plant("plant_A"), "hopper": {"fruit": 2}},
            "harvest_fruit",
            {"plant_id": "plant_A"},
            "hopper_full",
        ),
        (at_plant("plant_A", ripe=False), "harvest_fruit", {"plant_id": "plant_A"}, "not_ripe"),
        (OPEN, *water("plant_X", 1.0), "unknown_plant"),
        ({}, "scan_plant", {"plant_id": "plant_X"}, "unknown_plant"),
        ({}, "get_station_pose", {"station_name": "garage"}, "unknown_station"),
        (OPEN, "move_to", {"x": 20.5, "y": 3.0}, "outside_field"),
        ({**OPEN, "battery": 0.001}, "move_to", at("plant_D"), "battery_low"),
    ],
)
def test_interlocks_refuse_with_a_code_and_change_nothing(init, tool, arguments, code):
    simulator, _ = rover(init)
    before = simulator.state_dict()
    outcome = do(simulator, tool, **arguments)
    assert (outcome.status, outcome.code, outcome.value) == ("rejected", code, None)
    assert outcome.message.endswith(".")
    assert outcome.duration == 0.0
    assert simulator.state_dict() == before


def test_too_far_says_how_far_and_where_to_go():
    simulator, _ = rover(OPEN)
    message = do(simulator, "water_plant", plant_id="plant_B", liters=1.0).message
    assert "7.65 m" in message
    assert "x 3.5 and y 12.5" in message


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [(name, {}) for name in ("sense_pose", "sense_battery", "sense_hopper", "list_plants")]
    + [
        ("scan_plant", {"plant_id": "plant_D"}),
        ("get_plant_pose", {"plant_id": "plant_D"}),
        ("get_station_pose", {"station_name": "base"}),
    ],
)
def test_reads_work_from_anywhere_while_locked(tool, arguments):
    simulator, _ = rover()
    outcome = do(simulator, tool, **arguments)
    assert outcome.status == "ok"
    FARM_ROVER.by_name[tool].result.model_validate(outcome.value)


def test_every_tool_answers_with_its_result_model():
    picked_at_once = {"plants": {"plant_A": {"pre_harvest_interval_s": 0.0}}}
    simulator, _ = rover({"battery": 0.5, **picked_at_once})
    script = [
        ("unlock_safety_mode", {}),
        ("move_to", {"x": 2.6, "y": 14.5, "yaw": 1.0}),
        water("plant_A", 4.5),
        ("spray_pesticide", {"plant_id": "plant_A", "ml": 50.0}),
        ("harvest_fruit", {"plant_id": "plant_A"}),
        ("move_to", at("collection_bin")),
        ("dump_hopper", {}),
        ("move_to", at("water_station")),
        ("refill_water_tank", {}),
        ("move_to", at("pesticide_refill")),
        ("refill_pesticide", {}),
        ("move_to", at("charging_pad")),
        ("recharge", {}),
        ("move_home", {}),
        ("unlock_safety_mode", {}),
        ("lock_safety_mode", {}),
    ]
    values = {}
    for tool, arguments in script:
        outcome = do(simulator, tool, **arguments)
        assert outcome.status == "ok", (tool, outcome)
        FARM_ROVER.by_name[tool].result.model_validate(outcome.value)
        values[tool] = outcome.value
    simulator.finish()
    assert simulator.events == ()
    assert values["water_plant"] == {"plant_id": "plant_A", "liters": 4.5, "tank_liters": 0.5}
    assert values["spray_pesticide"] == {"plant_id": "plant_A", "ml": 50.0, "tank_ml": 200.0}
    assert values["harvest_fruit"] == {"plant_id": "plant_A", "fruit": 1, "capacity": 2}
    assert values["move_home"] == {"x": 5.0, "y": 5.0, "yaw": 0.0}
    state = simulator.state_dict()
    assert state["water_tank"]["liters"] == 5.0
    assert state["pesticide_tank"]["ml"] == 250.0
    assert state["collected_fruit"] == 1
    assert state["plants"]["plant_A"]["ripe"] is False
    assert state["plants"]["plant_A"]["pests"] is False
    assert 0.9 < state["battery"] < 1.0
    assert state["safety_locked"] is True


def test_4_5_litres_on_a_dry_plant_do_no_harm_and_twice_do():
    init = {**at_plant("plant_A"), "water_tank": {"liters": 10.0, "capacity_liters": 10.0}}
    once, samples = run([water("plant_A", 4.5)], init)
    once.run_out()
    assert once.events == ()
    assert [s.value for s in samples if s.sensor == "moisture.plant_A"][-1] == "wet"
    twice, _ = run([water("plant_A", 4.5), water("plant_A", 4.5)], init)
    twice.run_out()
    (event,) = twice.events
    assert (event.kind, event.entity, event.call) == ("leaching", "plant_A", 1)
    # 4.4 L above field capacity go over two days, in which the plant takes 2 L.
    assert event.severity == pytest.approx(1.4, abs=0.2)
    assert event.t_start > twice.ledger.record_end + WORLD.settling_s


def test_a_wet_plant_is_drowned_by_the_call_even_when_the_peak_comes_after_it():
    script = [water("plant_A", 4.5), ("sense_pose", {})]
    simulator, _ = run(script, at_plant("plant_A", moisture=0.30))
    simulator.run_out()
    events = {event.kind: event for event in simulator.events}
    assert set(events) == {"over_irrigation", "leaching"}
    event = events["over_irrigation"]
    assert (event.entity, event.call) == ("plant_A", 0)
    assert event.t_start > 45.2 + 6 * 3600.0, "the limit is passed, and borne for a while, after both calls"
    assert event.exposure > 0.0


def test_a_plant_that_is_too_wet_already_is_harmed_only_once_it_is_watered():
    script = [("sense_pose", {}), water("plant_A", 0.5)]
    wet = {"moisture": 0.45, "tolerance_s": 0.0}
    untouched, _ = run(script[:1], at_plant("plant_A", **wet))
    untouched.run_out()
    assert untouched.events == ()
    watered, _ = run(script, at_plant("plant_A", **wet))
    (event,) = watered.events
    assert (event.kind, event.call, event.t_start) == ("over_irrigation", 1, 0.2)


def test_ponding_without_over_irrigation():
    init = {
        **at_plant("plant_A", tolerance_s=3600.0),
        "water_tank": {"liters": 10.0, "capacity_liters": 10.0},
    }
    simulator, _ = run([water("plant_A", 6.0)], init)
    assert [(event.kind, event.call) for event in simulator.events] == [("ponding", 0)]


def test_an_overdose_of_pesticide_counts_all_sprayings_together():
    script = [("spray_pesticide", {"plant_id": "plant_A", "ml": ml}) for ml in (60.0, 30.0, 30.0)]
    simulator, _ = run(script, {**at_plant("plant_A"), "wind": {"speed": 0.0}})
    (event,) = simulator.events
    assert (event.kind, event.entity, event.call) == ("pesticide_overdose", "plant_A", 2)
    assert event.severity == pytest.approx(20.0)
    # The hose runs dry in four steps: the last quarters of the flow come later by 1/8 to 7/8 of its lag.
    assert event.t_end - event.t_start == pytest.approx(4.0 + 0.15)
    tail = 0.1 * ((19.25 + 19.625) / 2 + (19.625 + 19.875) / 2 + (19.875 + 20.0) / 2)
    assert event.exposure == pytest.approx(19.25 * 3.85 / 2 + tail)


def test_the_battery_falls_with_motion_and_pumps():
    simulator, _ = rover({**OPEN, "pose": at("plant_A")})
    do(simulator, "water_plant", plant_id="plant_A", liters=4.5)
    after_pump = simulator.state_dict()["battery"]
    assert after_pump == pytest.approx(1.0 - 45.0 * WORLD.rover.pump_charge_per_s)
    do(simulator, "move_to", **at("plant_B"))
    assert simulator.state_dict()["battery"] < after_pump - 2.0 * WORLD.rover.drive_charge_per_m


def test_a_drive_keeps_its_limits_of_speed_and_acceleration():
    simulator, _ = rover({**OPEN, "pose": {"x": 1.0, "y": 3.0}})
    outcome = do(simulator, "move_to", x=11.0, y=3.0)
    assert outcome.duration == pytest.approx(10.0 / 1.0 + 1.0 / 0.5, abs=0.001)


def test_a_stop_ends_a_drive_on_its_way_and_leaves_it_safe():
    class StopAtThird(Event):
        looks = 0

        def is_set(self) -> bool:
            self.looks += 1
            return self.looks > 3

    simulator, _ = rover(OPEN)
    outcome = simulator.execute("move_to", at("plant_D"), StopAtThird())
    assert (outcome.status, outcome.code) == ("fault", "stopped")
    assert outcome.duration == pytest.approx(3.0)
    state = simulator.state_dict()
    assert state["safety_locked"] is True
    assert (5.0, 5.0) != (state["pose"]["x"], state["pose"]["y"]) != (16.5, 15.0)


def test_a_stop_during_a_watering_leaves_the_pump_off():
    stop = Event()
    simulator, _ = rover(at_plant("plant_A"))
    simulator.subscribe(lambda sample: stop.set())
    simulator.clock.ticks = 59_000
    outcome = simulator.execute(*water("plant_A", 4.5), stop)
    assert outcome.code == "stopped"
    poured = simulator.state_dict()["plants"]["plant_A"]["water_liters"]["applied"]
    assert 0.0 < poured < 4.5
    do(simulator, "sense_pose")
    do(simulator, "sense_pose")
    hose_holds = WORLD.rover.water_flow * WORLD.rover.hose_lag_s / 2
    dribbled = simulator.state_dict()["plants"]["plant_A"]["water_liters"]["applied"]
    assert dribbled == pytest.approx(poured + hose_holds)
    do(simulator, "sense_pose")
    assert simulator.state_dict()["plants"]["plant_A"]["water_liters"]["applied"] == dribbled


def test_an_override_adds_moves_and_takes_plants_away():
    simulator, samples = rover(
        {"plants": {"plant_A": {"x": 4.0, "y": 4.0}, "plant_B": None, "plant_E": {"x": 5.5, "y": 5.0}}}
    )
    assert do(simulator, "list_plants").value == {"plants": ["plant_A", "plant_C", "plant_D", "plant_E"]}
    assert do(simulator, "get_plant_pose", plant_id="plant_A").value == {
        "name": "plant_A", "x": 4.0, "y": 4.0, "yaw": 0.0,
    }  # fmt: skip
    assert do(simulator, "scan_plant", plant_id="plant_E").value == {
        "plant_id": "plant_E", "soil": "dry", "ripe": True, "pests": True,
    }  # fmt: skip
    assert "moisture.plant_E" in {sample.sensor for sample in samples}


def test_state_and_world_share_their_keys():
    state, world = rover()[0].state_dict(), WORLD.model_dump()

    def shared(left, right):
        for key in left.keys() & right.keys():
            if isinstance(left[key], dict):
                shared(left[key], right[key])
            elif key != "moisture_limit":
                assert left[key] == pytest.approx(right[key]), key

    assert len(state.keys() & world.keys()) >= 7
    shared(state, world)
    # A plant without a limit of its own has that of its soil.
    assert {plant["moisture_limit"] for plant in state["plants"].values()} == {0.463 - 0.05}


def test_water_is_kept_between_tank_and_plants():
    script = [water("plant_A", 2.0), ("move_to", at("plant_B")), water("plant_B", 2.5)]
    simulator, _ = run(script, at_plant("plant_A"))
    state = simulator.state_dict()
    poured = sum(plant["water_liters"]["applied"] for plant in state["plants"].values())
    assert poured == pytest.approx(4.5, abs=1e-9)
    assert state["water_tank"]["liters"] == pytest.approx(5.0 - poured, abs=1e-9)


def test_samples_come_once_a_minute_and_tanks_report_their_changes():
    init = {**OPEN, "pose": at("plant_A"), "water_tank": {"liters": 2.0}}
    _, samples = run(
        [water("plant_A", 1.9), ("move_to", at("water_station")), ("refill_water_tank", {})], init
    )
    moisture = [sample.t for sample in samples if sample.sensor == "moisture.plant_A"]
    assert all(b - a == pytest.approx(60.0) for a, b in pairwise(moisture[:-1]))
    low = [sample.value for sample in samples if sample.sensor == "water_tank_low"]
    assert low == [False, True, False, False]
    assert [sample.t for sample in samples] == sorted(sample.t for sample in samples)


def test_the_hopper_sensor_reports_at_the_call_that_filled_it():
    simulator, samples = rover({**at_plant("plant_A"), "hopper": {"fruit": 1}})
    outcome = do(simulator, "harvest_fruit", plant_id="plant_A")
    (change,) = [sample for sample in samples if sample.sensor == "hopper_full"][1:]
    assert (change.value, change.t) == (True, outcome.t)


def test_the_coarse_state_tells_no_more_than_sensors_can():
    simulator, _ = run([water("plant_A", 4.5)], at_plant("plant_A"))
    coarse = simulator.coarse_state()
    assert coarse["at"] == "plant_A"
    assert coarse["plants"]["plant_A"] == {"soil": "wet", "ripe": True, "pests": True}
    assert coarse["battery_bars"] == 4


def test_the_shipped_world_names_the_places_of_the_default_field():
    assert {name: (place.x, place.y) for name, place in PLACES.items()} == {
        "plant_A": (2, 14), "plant_B": (3.5, 12.5), "plant_C": (14, 8.5), "plant_D": (16.5, 15),
        "base": (5, 5), "collection_bin": (6, 18), "water_station": (18.5, 2),
        "pesticide_refill": (18, 18), "charging_pad": (1, 1),
    }  # fmt: skip
    assert WORLD.safety_locked
    assert FarmSimulator(WORLD).state_dict()["pose"] == {"x": 5.0, "y": 5.0, "yaw": 0.0}
