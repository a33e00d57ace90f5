"""Faults on the clock: when they begin and end, and what physics and sensors make of them."""

import itertools
import math
import statistics
from threading import Event

import pytest
from arm_rig import arm
from farm_rig import at, rover
from hypothesis import given, settings
from hypothesis import strategies as st
from tank_rig import level_at, tank, wait

from devices.faults import Faults
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
    spells = schedule._groups[0].intervals
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
