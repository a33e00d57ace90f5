import json
from threading import Event, Thread

import pytest
from farm_rig import WORLD, at, do, rover, run
from hypothesis import given, settings
from hypothesis import strategies as st

from devices.harm import LEAVE_OUT, HarmEvent, HarmRule, Trend
from sims.clock import Clock
from sims.farm_rover.simulator import FarmSimulator
from sims.harm_ledger import HarmLedger
from sims.overrides import WorldError, deep_merge, merge_world

SCRIPT = [
    ("unlock_safety_mode", {}),
    ("move_to", at("plant_B")),
    ("water_plant", {"plant_id": "plant_B", "liters": 4.5}),
    ("scan_plant", {"plant_id": "plant_B"}),
    ("move_to", at("pesticide_refill")),
    ("lock_safety_mode", {}),
]


def bits(seed: int, init=None) -> str:
    simulator, samples = run(SCRIPT, init, seed)
    return json.dumps([simulator.state_dict(), [(s.sensor, s.value, s.t) for s in samples]])


def test_the_same_seed_gives_the_same_bits():
    assert bits(7) == bits(7)


def test_another_seed_gives_other_noise():
    edge = {"plants": {"plant_A": {"moisture": 0.219}}, "sensors": {"moisture": {"hysteresis": 0.0}}}
    assert bits(1, edge) != bits(2, edge)


def test_init_starts_over_whatever_happened_before():
    simulator, samples = rover(seed=3)
    fresh = json.dumps(simulator.state_dict()), list(samples)
    for tool, arguments in SCRIPT:
        do(simulator, tool, **arguments)
    samples.clear()
    assert simulator.init({}, 3).status == "ok"
    assert (json.dumps(simulator.state_dict()), samples) == fresh
    assert (simulator.events, simulator.clock.now) == ((), 0.0)


def test_overrides_are_merged_into_the_default_world_not_into_the_last_one():
    simulator, _ = rover({"battery": 0.5})
    simulator.init({"safety_locked": False}, 0)
    assert simulator.state_dict()["battery"] == 1.0


@pytest.mark.parametrize(
    ("state", "key"),
    [
        ({"plants": {"plant_A": {"moistur": 0.1}}}, "plants.plant_A.moistur: unknown key"),
        ({"batery": 1.0}, "batery: unknown key"),
        ({"battery": 1.5}, "battery: "),
        ({"battery": "full"}, "battery: "),
        ({"plants": {"plant_E": {"x": 1.0}}}, "plants.plant_E.y: "),
        ({"water_tank": {"liters": 9.0}}, "water_tank: "),
        ({"plants": {"plant_A": {"moisture": 0.9}}}, "plants.plant_A.moisture"),
        ({"stations": {"base": None}}, "stations lacks base"),
    ],
)
def test_a_bad_initial_state_is_invalid_and_named_in_one_line(state, key):
    simulator, _ = rover({"battery": 0.5})
    answer = simulator.init(state, 0)
    assert (answer.status, answer.code) == ("invalid", "bad_state")
    assert key in answer.message
    assert "\n" not in answer.message
    assert simulator.state_dict()["battery"] == 0.5, "the running episode is left alone"


def test_deep_merge_merges_replaces_and_deletes():
    base = {"a": {"b": 1, "c": 2}, "d": 3}
    assert deep_merge(base, {"a": {"b": None, "e": 4}, "d": 5}) == {"a": {"c": 2, "e": 4}, "d": 5}
    assert base == {"a": {"b": 1, "c": 2}, "d": 3}
    assert merge_world(WORLD, {}) is WORLD
    with pytest.raises(WorldError, match="show-init"):
        merge_world(WORLD, {"nothing": 1})


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("fly", {}, "unknown_tool"),
        ("move_to", {"x": 1.0}, "bad_arguments"),
        ("move_to", {"x": 1.0, "y": 1.0, "speed": 2.0}, "bad_arguments"),
        ("water_plant", {"plant_id": "plant_A", "liters": True}, "bad_arguments"),
        ("water_plant", {"plant_id": "plant_A", "liters": float("nan")}, "bad_arguments"),
    ],
)
def test_unknown_tools_and_bad_arguments_are_invalid(tool, arguments, code):
    simulator, _ = rover()
    outcome = simulator.execute(tool, arguments, Event())
    assert (outcome.status, outcome.code, outcome.duration) == ("invalid", code, 0.0)


def test_safe_rejects_calls_until_reset_and_locks():
    simulator, _ = rover({"safety_locked": False})
    simulator.safe()
    assert do(simulator, "sense_pose").code == "estop"
    simulator.reset()
    assert do(simulator, "move_home").code == "safety_locked"
    assert do(simulator, "unlock_safety_mode").status == "ok"


def test_safe_from_another_thread_ends_a_running_call():
    simulator, _ = rover({"safety_locked": False})
    stopper = Thread(target=simulator.safe)
    evolve = simulator.evolve

    def evolve_and_stop(seconds: float) -> None:
        evolve(seconds)
        if not stopper.is_alive():
            stopper.start()
            assert simulator._halted.wait(5.0)

    simulator.evolve = evolve_and_stop  # type: ignore[method-assign]
    outcome = do(simulator, "move_to", **at("plant_D"))
    stopper.join(5.0)
    assert (outcome.status, outcome.code) == ("fault", "stopped")
    assert simulator.state_dict()["safety_locked"] is True


def test_calls_are_counted_whatever_becomes_of_them():
    simulator, _ = rover({"safety_locked": False})
    do(simulator, "fly")
    do(simulator, "water_plant", plant_id="plant_A", liters=1.0)
    do(simulator, "move_to", x=10.0, y=12.4)
    assert [event.call for event in simulator.events] == [2]


def test_truth_is_json_ready_and_holds_the_events():
    simulator, _ = rover({"safety_locked": False})
    do(simulator, "move_to", x=10.0, y=12.4)
    truth = simulator.truth()
    assert truth.t == simulator.clock.now
    assert truth.call_id is None
    assert json.loads(json.dumps(truth.state)) == truth.state
    assert [event.kind for event in truth.events] == ["bed_crossing"]


def test_a_call_that_is_left_out_only_takes_its_time():
    simulator, _ = rover({"safety_locked": False})
    before = simulator.state_dict()
    outcome = simulator.execute("move_to", at("plant_A"), Event(), remedy=LEAVE_OUT, duration=12.345)
    assert (outcome.status, outcome.duration) == ("ok", 12.345)
    assert simulator.state_dict()["pose"] == before["pose"]
    assert simulator.clock.now == 12.345


def test_a_forced_call_works_from_anywhere_in_the_time_it_is_given():
    simulator, _ = rover()
    outcome = simulator.execute(
        "water_plant", {"plant_id": "plant_D", "liters": 1.0}, Event(), forced=True, duration=30.0
    )
    assert (outcome.status, outcome.duration) == ("ok", 30.0)
    outcome = simulator.execute("move_to", at("plant_D"), Event(), forced=True, duration=3.0)
    assert outcome.duration == 3.0
    assert simulator.state_dict()["pose"]["x"] == 16.5


def test_finish_reads_every_sensor_once_more_and_only_once():
    simulator, samples = rover()
    simulator.finish()
    simulator.finish()
    end = [sample.sensor for sample in samples if sample.t == simulator.clock.now]
    assert simulator.clock.now == WORLD.settling_s
    assert set(end) == set(simulator.sensor_specs)
    assert end.count("hopper_full") == 1


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 10**7))
def test_clock_durations_add_up_exactly(start, length):
    begin, end = Clock.to_seconds(start), Clock.to_seconds(start + length)
    assert Clock.to_ticks(begin) + Clock.to_ticks(end - begin) == start + length


def test_the_ledger_joins_what_adjoins_and_parts_what_does_not():
    ledger = HarmLedger()
    ledger.note("k", "e", 1, 0.0, 1.0, 2.0, 2.0)
    ledger.note("k", "other", 1, 1.0, 2.0, 1.0, 1.0)
    ledger.note("k", "e", 3, 1.0, 2.0, 5.0, 3.0)
    ledger.note("k", "e", 4, 9.0, 10.0, 1.0, 1.0)
    assert [(e.entity, e.call, e.t_start, e.t_end, e.severity, e.exposure) for e in ledger.events] == [
        ("e", 1, 0.0, 2.0, 5.0, 5.0),
        ("other", 1, 1.0, 2.0, 1.0, 1.0),
        ("e", 4, 9.0, 10.0, 1.0, 1.0),
    ]


RULE = HarmRule("k", "", "N", LEAVE_OUT, follow_s=10.0)


def test_the_ledger_counts_what_outlasts_the_record_up_to_the_rules_time():
    def episode(record_end: float) -> HarmEvent:
        ledger = HarmLedger([RULE])
        ledger.note("k", "over", 0, 0.0, 1.0, 2.0, 2.0)
        ledger.note("k", "on", 0, 1.0, record_end, 2.0, 2.0 * (record_end - 1.0))
        ledger.end_record(record_end)
        ledger.note("k", "on", 0, record_end, record_end + 20.0, 2.0, 40.0)
        ledger.note("k", "on", 0, record_end + 20.0, record_end + 30.0, 2.0, 20.0)
        ledger.note("k", "on", 0, record_end + 30.0, record_end + 40.0, 2.0, 20.0)
        ledger.run_out(record_end + 40.0)
        over, on = ledger.events
        assert (over.t_end, over.t_record, over.trend) == (1.0, None, None)
        assert on.t_record == record_end and on.trend is Trend.STEADY
        return on

    for record_end in (2.0, 5.0, 11.0 - 1e-3):
        on = episode(record_end)
        assert on.t_end == pytest.approx(11.0) and on.exposure == pytest.approx(20.0)


def test_what_stands_still_goes_on_at_its_own_rate_and_what_is_new_begins_its_own_time():
    ledger = HarmLedger([RULE])
    ledger.note("k", "on", 0, 4.0, 6.0, 3.0, 6.0)
    ledger.end_record(6.0)
    ledger.note("k", "late", 0, 7.0, 8.0, 1.0, 1.0)
    ledger.run_out(6.0)
    on, late = ledger.events
    assert (on.t_end, on.exposure, on.trend) == (14.0, 30.0, Trend.STEADY)
    assert (late.t_end, late.exposure, late.trend) == (17.0, 10.0, Trend.RISING)


def test_what_is_over_at_the_records_end_is_not_followed_and_nothing_adjoins_it():
    ledger = HarmLedger([RULE])
    ledger.note("k", "e", 0, 0.0, 2.0, 1.0, 2.0)
    ledger.over("k", "e")
    ledger.over("k", "never")
    ledger.note("k", "e", 1, 2.0, 3.0, 1.0, 1.0)
    ledger.over("k", "e")
    ledger.end_record(3.0)
    ledger.run_out(3.0)
    assert [(one.call, one.t_start, one.t_end, one.t_record) for one in ledger.events] == [
        (0, 0.0, 2.0, None),
        (1, 2.0, 3.0, None),
    ]


@pytest.mark.parametrize(("after", "trend"), [(1.0, Trend.FALLING), (2.0, Trend.STEADY), (3.0, Trend.RISING)])
def test_the_trend_is_that_of_the_moment_after_the_record(after: float, trend: Trend):
    ledger = HarmLedger([RULE])
    ledger.note("k", "e", 0, 0.0, 1.0, 2.0, 2.0)
    ledger.end_record(1.0)
    ledger.note("k", "e", 0, 1.0, 2.0, after, after)
    ledger.note("k", "e", 0, 2.0, 3.0, 2.0 * after, after)
    assert ledger.events[0].trend is trend


def test_a_simulator_is_a_device():
    from devices.device import Device

    device: Device = FarmSimulator(WORLD)
    assert (device.name, device.firmware.split()[0]) == ("farm_rover", "farm_rover_sim")
