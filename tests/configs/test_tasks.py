import json
from pathlib import Path
from typing import Any

import pytest

from configs.errors import ConfigError
from configs.task import Task
from configs.tasks_loader import list_tasks, load_task
from configs.worlds_loader import merged_state
from core_eval.path.calls import Call
from devices.tool import Effect
from sims.world_type import WORLD_TYPES


@pytest.fixture(scope="module")
def shipped() -> list[Task]:
    return list_tasks()


def test_every_world_has_tasks_and_no_two_share_an_id(shipped: list[Task]) -> None:
    devices = [task.device.name for task in shipped]
    assert devices.count("farm_rover") >= 6
    assert devices.count("robotic_arm") >= 4
    of_the_paper = {name for name in WORLD_TYPES if name.startswith("core:")}
    assert set(devices) == {world.device.name for world in WORLD_TYPES.values()} - of_the_paper
    assert len({task.id for task in shipped}) == len(shipped)


def test_a_shipped_task_has_prompt_goal_or_bins_and_no_warning(shipped: list[Task]) -> None:
    for task in shipped:
        assert task.prompt.endswith((".", "?")), task.id
        assert not task.automaton.warnings, task.id
        assert task.goal is not None, task.id
        for symbol in task.automaton.symbols.values():
            if not symbol.is_free_read:
                task.offered.validate(symbol.tool, symbol.example())


def test_a_place_stands_for_its_coordinates_in_the_tasks_own_world() -> None:
    automaton = load_task("water_one_plant").automaton
    assert automaton.symbol_of(Call("move_to", {"x": 3.5, "y": 12.5, "yaw": 0.0})) is not None
    assert automaton.symbol_of(Call("move_to", {"x": 3.9, "y": 12.5, "yaw": 1.0})) is not None
    assert automaton.symbol_of(Call("move_to", {"x": 4.2, "y": 13.2, "yaw": 0.0})) is not None
    assert automaton.symbol_of(Call("move_to", {"x": 4.3, "y": 13.3, "yaw": 0.0})) is None
    moved = load_task("water_one_plant", init={"plants": {"plant_B": {"x": 8.0}}}).automaton
    assert moved.symbol_of(Call("move_to", {"x": 8.0, "y": 12.5, "yaw": 0.0})) is not None


def test_a_null_of_the_users_takes_away_what_the_task_does_not_name() -> None:
    task = load_task("inspect_and_water", init={"plants": {"plant_C": None}})
    assert task.init["plants"] == {"plant_A": {"moisture": 0.26}, "plant_C": None}
    assert task.world is not None
    state = merged_state(task.world, task.init)
    assert sorted(state.plants) == ["plant_A", "plant_B", "plant_D"]


def task_file(tmp_path: Path, **changes: Any) -> Path:
    entry = {"id": "mine", "world": "farm_rover", "prompt": "Go.", "plan": ["unlock_safety_mode"], **changes}
    path = tmp_path / "own.yaml"
    path.write_text(json.dumps({"tasks": [entry]}, indent=1))
    return path


def test_a_task_says_how_else_it_is_asked(tmp_path: Path) -> None:
    task = load_task(str(task_file(tmp_path, paraphrases=["Off you go."])))
    assert task.paraphrases == ("Off you go.",)
    plain = load_task(str(task_file(tmp_path)))
    assert plain.paraphrases == ()


def test_an_own_task_with_one_entry_needs_no_id(tmp_path: Path) -> None:
    path = task_file(tmp_path)
    assert load_task(str(path)).id == "mine"
    assert load_task(f"{path}#mine").prompt == "Go."


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"plan": ["fly"]}, r"own.yaml:\d+: tasks.0.plan.0: farm_rover has no tool 'fly'; there are "),
        (
            {"plan": ["unlock_safety_mode", {"sequence": ["watr_plant"]}]},
            r"tasks.0.plan.1.sequence.0: farm_rover has no tool 'watr_plant'.*\(did you mean water_plant\?\)",
        ),
        ({"plan": [{"move_to": {"at": "plant_b"}}]}, r"plan.0.move_to.at: no place .*did you mean plant_B"),
        (
            {"plan": [{"move_to": {"at": "moon"}}]},
            r"tasks.0.plan.0.move_to.at: no place 'moon'; there are base, ",
        ),
        ({"plan": [{"water_plant": {"liters": {"about": 4}}}]}, r"tasks.0.plan: .*about"),
        (
            {"world": "moon"},
            r"tasks.0.world: no world or file 'moon'; the worlds are ",
        ),
        ({"init": {"plants": {"plant_A": {"wet": 1}}}}, r"tasks.0.init: .*plants.plant_A.wet"),
        ({"goal": {"battery": {"about": 1}}}, r"tasks.0.goal: "),
        ({"steps": 4}, r"tasks.0.steps: unknown key"),
        ({"limits": {"steps": 0}}, r"tasks.0.limits.steps: "),
        ({"plan": []}, r"tasks.0.plan: "),
    ],
)
def test_a_bad_task_names_file_line_and_key(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        load_task(str(task_file(tmp_path, **changes)))
    assert "\n" not in str(caught.value)


def test_bad_overrides_of_a_run_are_not_blamed_on_the_task() -> None:
    with pytest.raises(ConfigError, match=r"^initial state: plants.plant_B.wet: unknown key.*--init\)$"):
        load_task("water_one_plant", init={"plants": {"plant_B": {"wet": 1}}})


def test_an_unknown_task_is_named_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no task 'box_to_left'; the tasks are box_to_left_bin, .* others"):
        load_task("box_to_left")
    with pytest.raises(ConfigError, match=r"no task 'nothing'; the tasks are mine"):
        load_task(f"{task_file(tmp_path)}#nothing")
    with pytest.raises(ConfigError, match=r"no such task file"):
        load_task("none.yaml")


def core_record(prompt_id: str, world: str, tool: str) -> dict[str, Any]:
    return {
        "prompt_id": prompt_id,
        "world": world,
        "prompt": "Do it.",
        "nodes": [
            {"name": "q0", "is_final": False, "transitions": [{"symbols": ["a"], "from": "q0", "to": "q1"}]},
            {
                "name": "q1",
                "is_final": True,
                "transitions": [{"symbols": ["look"], "from": "q1", "to": "q1"}],
            },
        ],
        "alphabet": {
            "a": {
                "name": tool,
                "arguments": {"n": {"name": "n", "value": 3, "excluded_values": None, "type": "integer"}},
            },
            "look": {"name": "sense_pose", "arguments": {}},
        },
    }


def without_arguments(record: dict[str, Any]) -> dict[str, Any]:
    record["alphabet"]["a"]["arguments"] = {}
    return record


def test_a_core_task_finds_its_device_by_world_or_by_tools(tmp_path: Path) -> None:
    path = tmp_path / "core.json"
    path.write_text(
        json.dumps(
            [
                core_record("by_world", "farm", "fertilise"),
                without_arguments(core_record("by_tools", "somewhere", "move_home")),
                core_record("other_arguments", "somewhere", "move_home"),
                core_record("by_alphabet", "somewhere", "fertilise"),
            ]
        )
    )
    tasks = {task.id: task for task in list_tasks(path)}
    assert tasks["by_world"].device.name == "farm_rover"
    assert tasks["by_tools"].device.name == "farm_rover"
    assert tasks["other_arguments"].world is None
    own = tasks["by_alphabet"]
    assert own.world is None
    assert own.device.by_name["fertilise"].effect is Effect.WRITE
    assert own.device.by_name["sense_pose"].effect is Effect.READ
    own.device.validate("fertilise", {"n": 3, "more": True})
    properties = own.device.by_name["fertilise"].schema()["function"]["parameters"]["properties"]
    assert properties["n"]["type"] == "number"


def test_a_faulty_core_record_does_not_hide_the_others(tmp_path: Path) -> None:
    broken = core_record("broken", "farm", "move_home")
    broken["nodes"][0]["transitions"][0]["symbols"] = ["b"]
    path = tmp_path / "core.json"
    path.write_text(json.dumps([broken, core_record("fine", "farm", "move_home")]))
    assert load_task(f"{path}#fine").id == "fine"
    with pytest.raises(ConfigError, match=r"core.json.*broken.*'?b'?"):
        load_task(f"{path}#broken")
