from threading import Event

import arm_rig
import pytest
from farm_rig import WORLD, at, executed
from plain_replay import replay_episode

from configs.worlds_loader import load_world, make_simulator
from core_eval.harm.compensating import compensating_pairs
from core_eval.harm.report import ExecutedCall
from core_eval.path.plan import compile_plan
from devices.farm_rover.tools import FARM_ROVER
from devices.robotic_arm.tools import ROBOTIC_ARM
from sims.farm_rover.simulator import FarmSimulator
from sims.robotic_arm.simulator import ArmSimulator
from sims.world_type import WORLD_TYPES

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


def test_each_call_belongs_to_one_pair_at_most():
    there_and_back_and_there = [
        ("unlock_safety_mode", {}),
        ("move_to", at("plant_D")),
        ("move_home", {}),
        ("move_to", at("plant_D")),
    ]
    (pair,) = pairs(there_and_back_and_there, PLAN)
    assert (pair.earlier, pair.later) == (11, 12), "the second drive there undoes nothing that is not undone"


def test_a_refused_call_belongs_to_no_pair():
    assert pairs([("move_to", at("plant_D")), ("move_home", {})], PLAN) == ()


def bench_pairs(script, init=None):
    automaton = compile_plan(["unlock_safety"], free_reads=(), file="test", task="t")
    calls = arm_rig.executed(script, init)
    start = {**arm_rig.UNLOCKED, **(init or {})}
    replay = replay_episode(lambda: ArmSimulator(arm_rig.WORLD), start, 0, calls)
    return calls, compensating_pairs(replay, calls, automaton, ROBOTIC_ARM)


def test_an_object_that_is_put_back_is_a_pair_by_its_true_place():
    box = arm_rig.WORLD.objects["box_small"]
    back = ("place", {"x": box.x, "y": box.y, "z": box.z, "yaw": box.yaw})
    calls, (pair,) = bench_pairs([arm_rig.pick("box_small"), back])
    assert (pair.earlier, pair.later) == (0, 1)
    assert {"holding", "objects.box_small"} <= set(pair.restored)
    assert pair.stranded == pytest.approx(calls[1].duration)


def test_an_object_that_is_put_elsewhere_is_no_pair():
    assert bench_pairs([arm_rig.pick("box_small"), arm_rig.place("bin_left")])[1] == ()


def test_a_move_between_unnamed_places_and_back_shows_in_no_register():
    script = [arm_rig.to(0.5, 0.0, 0.4), ("sense_pose", {}), arm_rig.to(0.4, 0.0, 0.4)]
    init = {"home": {"x": 0.4, "y": 0.3, "z": 0.4}, "pose": {"x": 0.4, "y": 0.0, "z": 0.4}}
    _, (pair,) = bench_pairs(script, init)
    assert (pair.earlier, pair.later, pair.restored) == (0, 2, ("pose",))


def test_a_way_back_from_where_another_call_went_is_no_pair():
    script = [arm_rig.to(0.5, 0.0, 0.4), arm_rig.to(0.5, 0.2, 0.4), arm_rig.to(0.4, 0.0, 0.4)]
    init = {"home": {"x": 0.4, "y": 0.3, "z": 0.4}, "pose": {"x": 0.4, "y": 0.0, "z": 0.4}}
    assert bench_pairs(script, init)[1] == ()


def there_and_back(script, world, plan):
    calls, sim = [], make_simulator(load_world(world))
    for step, (tool, arguments) in enumerate(script):
        outcome = sim.execute(tool, arguments, Event())
        calls.append(ExecutedCall(step, tool, arguments, outcome.status, outcome.duration, True))
    replay = replay_episode(lambda: make_simulator(load_world(world)), {}, 0, calls)
    automaton = compile_plan(plan, free_reads=(), file="test", task="t")
    pairs = compensating_pairs(replay, calls, automaton, sim.device_type)
    return [(pair.earlier, pair.later, pair.restored) for pair in pairs]


DAN = {"username": "dan", "email": "dan@example.org"}
TODO = "order paper\ncall the printer"


@pytest.mark.parametrize(
    ("world", "script", "restored"),
    [
        ("crud", [("delete_user", {"username": "dan"}), ("add_user", DAN)],
         ("users.dan.email", "users.dan.online", "users.dan.role")),
        ("file_management", [("delete_file", {"filename": "todo.txt"}),
                             ("create_file", {"filename": "todo.txt", "content": TODO})],
         ("files.todo.txt",)),
        ("file_management", [("move_file", {"source": "todo.txt", "destination": "a"}),
                             ("move_file", {"source": "a", "destination": "todo.txt"})],
         ("files.a", "files.todo.txt")),
        ("file_management", [("create_file", {"filename": "a", "content": "x"}),
                             ("delete_file", {"filename": "a"})], ("files.a",)),
    ],
)  # fmt: skip
def test_what_is_removed_and_made_again_is_a_pair(world, script, restored):
    plan = [{tool: arguments} for tool, arguments in script]
    assert there_and_back(script, world, plan[1:]) == [(0, 1, restored)]
    assert there_and_back(script, world, plan) == [], "the golden path holds it"


def test_what_is_made_again_otherwise_is_no_pair():
    script = [("delete_user", {"username": "dan"}), ("add_user", {**DAN, "email": "d@example.org"})]
    assert there_and_back(script, "crud", [{"add_user": DAN}]) == []


@pytest.mark.parametrize("name", list(WORLD_TYPES))
def test_what_tools_set_is_in_the_true_state(name):
    world = load_world(name)
    simulator = make_simulator(world)
    state = simulator.state_dict()
    for tool in world.device.tools:
        # Where the whole state is a register, what a later call restores is told without.
        if simulator.coarse_state() != state:
            assert bool(tool.sets) == (tool.inverse is not None), tool.name
        for key in tool.sets:
            place = state
            for name in key.split("."):
                if name.startswith("{"):
                    assert name.strip("{}") in tool.arguments.model_fields
                    name = next(iter(place))
                assert name in place, (tool.name, key)
                place = place[name]
