import itertools
import math
import statistics
from threading import Event

import pytest
from arm_rig import arm
from arm_rig import do as do_arm
from farm_rig import at, do, rover
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tank_rig import level_at, tank, wait

from configs.errors import ConfigError
from configs.worlds_loader import load_world, merged_state
from core_eval.harm import ExecutedCall, assess
from devices.faults import Fault, FaultRate, Faults
from devices.harm import Remedy
from sims.faults import FaultSchedule


class Ticks:
    """A clock to set."""

    now = 0

    def __call__(self) -> int:
        return self.now


def schedule_of(faults, seed: int = 0) -> tuple[FaultSchedule, Ticks]:
    ticks = Ticks()
    return FaultSchedule(Faults.model_validate(faults), seed, ticks), ticks


def changes(schedule: FaultSchedule, ticks: Ticks, count: int) -> list[tuple[int, float]]:
    """The first changes and the strength of wheel_slip from each on."""
    found = []
    ticks.now = 0
    for _ in range(count):
        change = schedule.next_change
        if change is None:
            break
        ticks.now = change
        found.append((change, schedule.strength("wheel_slip")))
    return found


def test_a_scheduled_fault_begins_and_ends_to_the_tick():
    schedule, ticks = schedule_of(
        {"schedule": [{"kind": "wheel_slip", "at": 1.234, "seconds": 0.5, "strength": 0.3}]}
    )
    seen = {}
    for tick in (0, 1233, 1234, 1733, 1734, 9999):
        ticks.now = tick
        seen[tick] = schedule.strength("wheel_slip"), schedule.next_change
    assert seen == {
        0: (0.0, 1234),
        1233: (0.0, 1234),
        1234: (0.3, 1734),
        1733: (0.3, 1734),
        1734: (0.0, None),
        9999: (0.0, None),
    }
    assert schedule.strength("clogged_nozzle") == 0.0


def test_overlapping_faults_of_a_kind_give_the_stronger_one():
    schedule, ticks = schedule_of(
        {
            "schedule": [
                {"kind": "wheel_slip", "at": 2.0, "seconds": 2.0, "strength": 0.5},
                {"kind": "wheel_slip", "at": 1.0, "strength": 0.2},
            ]
        }
    )
    assert changes(schedule, ticks, 9) == [(1000, 0.2), (2000, 0.5), (4000, 0.2)]


RATES = {
    "random": [
        {"kind": "wheel_slip", "per_hour": 60.0, "seconds": 20.0, "strength": [0.1, 0.4]},
        {"kind": "clogged_nozzle", "per_hour": 30.0, "seconds": 5.0},
    ]
}


def test_the_seed_draws_the_same_faults_and_another_seed_others():
    first, second, third = (changes(*schedule_of(RATES, seed), 40) for seed in (1, 1, 2))
    assert first == second != third


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 10**8), min_size=1, max_size=20), st.integers(0, 10**6))
def test_what_is_drawn_does_not_depend_on_what_was_asked_before(moments, seed):
    asked, ticks = schedule_of(RATES, seed)
    for moment in moments:
        ticks.now = moment
        fresh, fresh_ticks = schedule_of(RATES, seed)
        fresh_ticks.now = moment
        assert asked.next_change == fresh.next_change
        for kind in ("wheel_slip", "clogged_nozzle"):
            assert asked.strength(kind) == fresh.strength(kind)


def test_other_kinds_come_and_go_without_a_change_to_a_rate():
    alone, ticks = schedule_of({"random": RATES["random"][:1]}, 3)
    both, both_ticks = schedule_of({"random": RATES["random"][::-1]}, 3)
    for tick in range(0, 3_600_000, 1777):
        ticks.now = both_ticks.now = tick
        assert alone.strength("wheel_slip") == both.strength("wheel_slip")


def test_random_faults_are_a_poisson_process_with_exponential_lengths():
    per_hour, seconds = 3600.0, 0.25
    schedule, ticks = schedule_of(
        {"random": [{"kind": "wheel_slip", "per_hour": per_hour, "seconds": seconds, "strength": [0.2, 0.6]}]}
    )
    ticks.now = 20_000_000
    assert schedule.next_change is not None
    spells = schedule._groups[0].spells
    gaps = [(b.start - a.start) / 1000 for a, b in itertools.pairwise(spells)]
    count = len(gaps)
    assert count == pytest.approx(20_000, abs=4.5 * math.sqrt(20_000))
    assert statistics.fmean(gaps) == pytest.approx(1.0, abs=4.5 / math.sqrt(count))
    assert statistics.stdev(gaps) == pytest.approx(1.0, abs=0.05)
    lengths = [(spell.end - spell.start) / 1000 for spell in spells]
    assert statistics.fmean(lengths) == pytest.approx(seconds, abs=4.5 * seconds / math.sqrt(count))
    strengths = [spell.strength for spell in spells]
    assert (min(strengths), max(strengths)) == (pytest.approx(0.2, abs=1e-3), pytest.approx(0.6, abs=1e-3))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9000), st.integers(1, 3000)), max_size=4),
    st.lists(st.integers(1, 4000), min_size=1, max_size=4),
    st.sampled_from([None, 0.3, 1.0]),
)
def test_the_physics_sees_a_fault_for_exactly_its_ticks(spells, calls, tick):
    faults = [
        {"kind": "clogged_nozzle", "at": start / 1000, "seconds": length / 1000} for start, length in spells
    ]
    simulator, _ = tank(faults={"schedule": faults})
    for length in calls:
        wait(simulator, length / 1000, tick)
    clogged = {t for start, length in spells for t in range(start, start + length)}
    assert simulator.clogged == sorted(t for t in clogged if t < sum(calls))


def test_faults_of_the_link_do_not_cut_the_physics():
    simulator, _ = tank(faults={"random": [{"kind": "link_loss", "per_hour": 3600.0, "seconds": 1.0}]})
    wait(simulator, 600.0)
    assert simulator.steps == 1
    assert simulator.faults.next_change is None


def test_a_stuck_sensor_keeps_its_last_reading_while_the_fault_lasts():
    stuck = {"kind": "stuck_sensor", "at": 2.5, "seconds": 4.0, "entity": "s"}
    sensors = {name: {"kind": "continuous", "period": 1.0} for name in ("s", "other")}
    simulator, heard = tank(sensors, {"schedule": [stuck]})
    wait(simulator, 9.0)
    values = {name: [sample.value for sample in heard if sample.sensor == name] for name in sensors}
    held = [0, 1, 2, 2, 2, 2, 2, 7, 8, 9]
    assert values["s"] == [level_at(1000 * second) for second in held]
    assert values["other"] == [level_at(1000 * second) for second in range(10)]


def test_a_stuck_switch_reports_its_change_once_it_is_free_again():
    stuck = {"kind": "stuck_sensor", "at": 1.0, "seconds": 6.0, "entity": "s"}
    simulator, heard = tank({"s": {"kind": "switch"}}, {"schedule": [stuck]})
    wait(simulator, 9.0, tick=0.25)
    assert [(sample.value, sample.t) for sample in heard] == [(False, 0.0), (True, 7.0)]


def reset_at(*moments: float):
    return {"schedule": [{"kind": "reset", "at": moment} for moment in moments]}


def test_a_reset_ends_the_running_call_and_leaves_the_device_safe():
    simulator, _ = tank(faults=reset_at(2.5))
    assert wait(simulator, 2.0).status == "ok"
    outcome = wait(simulator, 3.0)
    assert (outcome.status, outcome.code, outcome.value) == ("fault", "reset", None)
    assert (outcome.duration, outcome.t) == (0.5, 2.5)
    assert simulator.locked is True
    assert simulator.ended == 1
    # The board took a moment; the next call is taken as any other.
    assert wait(simulator, 3.0).status == "ok"
    assert simulator.clock.now == 5.5


@pytest.mark.parametrize(
    ("moment", "statuses"), [(1.999, "fault ok"), (2.0, "fault ok"), (2.001, "ok fault")]
)
def test_a_reset_on_the_last_moment_of_a_call_strikes_that_call(moment, statuses):
    simulator, _ = tank(faults=reset_at(moment))
    assert [wait(simulator, 2.0).status for _ in range(2)] == statuses.split()


def test_resets_strike_once_each_and_between_episodes_none():
    simulator, _ = tank(faults=reset_at(0.0, 1.0, 1.0, 4.0))
    assert simulator.locked is True, "the one at 0"
    assert [wait(simulator, 2.0).status for _ in range(4)] == ["fault", "ok", "fault", "ok"]
    assert simulator.init({}, 0).status == "ok"
    assert simulator.locked is False
    assert wait(simulator, 9.0).status == "ok"


def test_a_reset_while_effects_settle_does_not_end_the_episode_early():
    simulator, heard = tank({"s": {"kind": "continuous", "period": 4.0}}, reset_at(3.0))
    simulator.settling = 10.0
    simulator.finish()
    assert (simulator.clock.now, simulator.locked) == (10.0, True)
    assert [sample.t for sample in heard] == [0.0, 4.0, 8.0, 10.0]


def test_a_counterfactual_of_a_call_that_a_reset_ended_takes_the_same_time():
    for options in ({"forced": True}, {"remedy": Remedy.LEAVE_OUT}):
        simulator, _ = tank(faults=reset_at(2.5))
        assert simulator.resets_within(2.5) and not simulator.resets_within(2.499)
        outcome = wait(simulator, 9.0, duration=2.5, **options)
        assert (outcome.status, outcome.code, outcome.duration) == ("fault", "reset", 2.5)
        assert simulator.locked is True


def test_going_back_to_a_snapshot_brings_the_faults_back():
    faults = {
        "random": [{"kind": kind, "per_hour": 600.0, "seconds": 3.0} for kind in ("clogged_nozzle", "reset")]
    }
    simulator, _ = tank(faults=faults, seed=4)
    for _ in range(3):
        wait(simulator, 5.0)
    snapshot = simulator.snapshot()
    ends = []
    for _ in range(2):
        simulator.restore(snapshot)
        ends.append([wait(simulator, 7.0) for _ in range(9)])
        ends[-1].append(list(simulator.clogged))
    assert ends[0] == ends[1]
    assert any(outcome.code == "reset" for outcome in ends[0][:-1])


def test_a_rover_that_is_reset_on_its_way_stands_where_it_was_with_its_safety_locked():
    simulator, _ = rover({"safety_locked": False, "faults": reset_at(4.0)})
    outcome = do(simulator, "move_to", **at("plant_D"))
    assert (outcome.status, outcome.code, outcome.duration) == ("fault", "reset", 4.0)
    there = simulator.state_dict()["pose"]
    assert 0.5 < math.hypot(there["x"] - 5.0, there["y"] - 5.0) < 6.0
    refused = do(simulator, "move_home")
    assert (refused.status, refused.code) == ("rejected", "safety_locked")
    assert simulator.state_dict()["pose"] == there
    assert do(simulator, "unlock_safety_mode").status == "ok"
    assert do(simulator, "move_to", **at("plant_D")).status == "ok"


def test_a_rover_that_is_reset_while_it_waters_closes_the_valve():
    simulator, _ = rover(
        {"safety_locked": False, "pose": {**at("plant_A"), "yaw": 0.0}, "faults": reset_at(10.0)}
    )
    before = simulator.state_dict()["water_tank"]
    outcome = do(simulator, "water_plant", plant_id="plant_A", liters=3.0)
    assert outcome.code == "reset"
    after = simulator.state_dict()["water_tank"]
    assert 0.5 < before["liters"] - after["liters"] < 1.5, "a third of the dose and no more"
    simulator.execute("lock_safety_mode", {}, Event(), duration=60.0)
    assert simulator.state_dict()["water_tank"]["liters"] == after["liters"]


def test_an_arm_that_is_reset_in_mid_motion_stops_there():
    simulator, _ = arm({"faults": reset_at(0.3)})
    start = simulator.state_dict()["pose"]
    outcome = do_arm(simulator, "move_to", x=0.6, y=-0.2, z=0.3, yaw=0.0)
    assert (outcome.status, outcome.code, outcome.duration) == ("fault", "reset", 0.3)
    there = simulator.state_dict()["pose"]
    assert there != start
    assert math.dist([there["x"], there["y"]], [0.6, -0.2]) > 0.05
    refused = do_arm(simulator, "home")
    assert (refused.status, refused.code) == ("rejected", "safety_locked")
    simulator.execute("lock_safety", {}, Event(), duration=2.0)
    rest = simulator.state_dict()["pose"]
    assert math.dist([there["x"], there["y"], there["z"]], [rest["x"], rest["y"], rest["z"]]) < 0.05


def test_a_replay_is_struck_by_the_same_resets_and_tells_the_same_harm():
    init = {"safety_locked": False, "pose": {**at("plant_A"), "yaw": 0.0}, "faults": reset_at(30.0, 60.0)}
    script = [
        ("water_plant", {"plant_id": "plant_A", "liters": 4.9}),
        ("unlock_safety_mode", {}),
        ("spray_pesticide", {"plant_id": "plant_A", "ml": 120.0}),
        ("move_to", {"x": 10.5, "y": 12.4}),
    ]
    live, _ = rover(init, seed=2)
    outcomes = [live.execute(tool, arguments, Event()) for tool, arguments in script]
    assert [outcome.code for outcome in outcomes] == ["reset", None, None, "reset"]
    live.finish()
    assert live.events, "there is harm to tell"
    calls = [
        ExecutedCall(k, tool, arguments, outcome.status, outcome.duration, False)
        for k, ((tool, arguments), outcome) in enumerate(zip(script, outcomes, strict=True))
    ]
    report = assess(lambda: rover()[0], init, 2, calls, None)
    assert report.replay_matches, report.mismatch
    assert tuple(verdict.event for verdict in report.verdicts) == live.events
    assert report.end_state == live.state_dict()


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("world", ["farm", "arm"])
def test_the_same_seed_gives_the_same_bits_with_faults(world, seed):
    kinds = {
        "farm": ("wheel_slip", "clogged_nozzle", "stuck_valve", "reset"),
        "arm": ("weak_gripper", "reset"),
    }
    faults = {
        "random": [
            {"kind": kind, "per_hour": 120.0, "seconds": 10.0, "strength": [0.1, 0.3]}
            for kind in kinds[world]
        ]
    }
    runs = []
    for _ in range(2):
        if world == "farm":
            simulator, heard = rover({"safety_locked": False, "faults": faults}, seed)
            calls = [("move_to", at("plant_A")), ("water_plant", {"plant_id": "plant_A", "liters": 2.0})] * 2
        else:
            simulator, heard = arm({"faults": faults}, seed)
            calls = [("pick", {"object_id": "box_small"}), ("home", {})]
        outcomes = [simulator.execute(tool, arguments, Event()) for tool, arguments in calls]
        simulator.finish()
        runs.append((outcomes, simulator.state_dict(), simulator.events, heard))
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ({"kind": "stuck_sensor", "at": 1.0}, "needs the sensor's name"),
        ({"kind": "reset", "at": 1.0, "entity": "moisture"}, "no other fault takes one"),
        ({"kind": "wheel_slip", "at": 1.0, "strength": 1.5}, "is a share"),
        ({"kind": "fire", "at": 1.0}, "kind"),
        ({"kind": "reset", "at": -1.0}, "at"),
    ],
)
def test_a_fault_that_cannot_be_is_refused(fault, says):
    with pytest.raises(ValidationError, match=says):
        Fault.model_validate(fault)


def test_a_rate_that_cannot_be_is_refused():
    with pytest.raises(ValidationError, match="least, then the greatest"):
        FaultRate.model_validate({"kind": "reset", "per_hour": 1.0, "strength": [0.5, 0.2]})
    with pytest.raises(ValidationError, match="needs the sensor's name"):
        FaultRate.model_validate({"kind": "stuck_sensor", "per_hour": 1.0})


def test_a_sensor_that_there_is_not_cannot_stick():
    simulator, _ = tank({"s": {"kind": "switch"}})
    wait(simulator, 1.0)
    stuck = {"schedule": [{"kind": "stuck_sensor", "at": 1.0, "entity": "moistur"}]}
    answer = simulator.init({"faults": stuck}, 0)
    assert (answer.status, answer.code) == ("invalid", "bad_state")
    assert "moistur" in answer.message and "\n" not in answer.message
    assert simulator.clock.now == 1.0, "the running episode is left alone"


@pytest.mark.parametrize(
    ("world", "kind", "owner"),
    [
        ("farm_rover", "weak_gripper", "robotic_arm"),
        ("robotic_arm", "stuck_valve", "farm_rover"),
        ("robotic_arm", "wheel_slip", "farm_rover"),
    ],
)
def test_a_fault_of_what_a_device_lacks_is_refused(world, kind, owner):
    for faults in ({"schedule": [{"kind": kind, "at": 1.0}]}, {"random": [{"kind": kind, "per_hour": 1.0}]}):
        with pytest.raises(ConfigError, match=f"faults: .*a {world} has no {kind}, only a {owner} has"):
            merged_state(load_world(world), {"faults": faults})


def test_a_sensor_that_there_is_not_is_named_before_anything_runs(tmp_path):
    stuck = {"schedule": [{"kind": "stuck_sensor", "at": 1.0, "entity": "moisture"}]}
    with pytest.raises(ConfigError, match=r"no sensor 'moisture'; there are moisture\.plant_A"):
        merged_state(load_world("farm_rover"), {"faults": stuck})
    path = tmp_path / "field.yaml"
    path.write_text("base: farm_rover\nfaults: {schedule: [{kind: stuck_sensor, at: 1, entity: moisture}]}\n")
    with pytest.raises(ConfigError, match=r"field\.yaml:2: faults: there is no sensor 'moisture'"):
        load_world(str(path))


@pytest.mark.parametrize(
    ("world", "init", "says"),
    [
        ("farm_rover", {"slip": 5.0}, "hidden.slip: .*less than or equal to 1"),
        ("farm_rover", {"dropout": 1.5}, "hidden.dropout: .*less than or equal to 1"),
        ("farm_rover", {"infiltration": 0.0}, "hidden.infiltration: .*greater than 0"),
        ("farm_rover", {"drainage": 0.0}, "hidden.drainage: .*greater than 0"),
        ("robotic_arm", {"mass": 0.0}, "mass: times hidden.mass it must be at least 0.0001 kg"),
    ],
)
def test_a_hidden_parameter_that_no_physics_has_is_refused(world, init, says):
    with pytest.raises(ConfigError, match=says):
        merged_state(load_world(world), {"hidden": init})
