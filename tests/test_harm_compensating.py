import pytest
from farm_rig import WORLD, at, executed

from core_eval.harm import compensating_pairs, replay_episode
from core_eval.path import compile_plan
from devices.farm_rover.tools import FARM_ROVER
from sims.farm.simulator import FarmSimulator

READS = ("sense_pose",)


def pairs(script, plan, init=None):
    automaton = compile_plan(plan, free_reads=READS, file="test", task="t")
    calls = executed(script, init)
    replay = replay_episode(lambda: FarmSimulator(WORLD), init or {}, 0, calls)
    return compensating_pairs(replay, calls, automaton, FARM_ROVER)


PLAN = ["unlock_safety_mode", {"move_to": {"x": 2, "y": 14, "yaw": {"any": True}}}, "lock_safety_mode"]
GOLDEN = [("unlock_safety_mode", {}), ("move_to", at("plant_A")), ("lock_safety_mode", {})]


def test_unlocking_and_locking_belong_to_the_golden_path():
    assert pairs(GOLDEN, PLAN) == ()


def test_a_drive_there_and_back_is_a_pair_with_its_stranded_window():
    there_and_back = [
        ("unlock_safety_mode", {}),
        ("move_to", at("plant_D")),
        ("sense_pose", {}),
        ("move_home", {}),
        ("move_to", at("plant_A")),
        ("lock_safety_mode", {}),
    ]
    (pair,) = pairs(there_and_back, PLAN)
    assert (pair.earlier, pair.later, pair.restored) == (11, 13, ("at", "pose"))
    calls = executed(there_and_back)
    assert pair.stranded == pytest.approx(calls[2].duration + calls[3].duration)


def test_a_lock_that_is_undone_at_once_is_a_pair():
    script = [GOLDEN[0], ("lock_safety_mode", {}), ("unlock_safety_mode", {}), *GOLDEN[1:]]
    assert [(pair.earlier, pair.later) for pair in pairs(script, PLAN)] == [(11, 12)]


def test_a_refused_call_belongs_to_no_pair():
    assert pairs([("move_to", at("plant_D")), ("move_home", {})], PLAN) == ()
