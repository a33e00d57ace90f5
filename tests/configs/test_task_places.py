"""The tolerances of places and doses that a plan leaves to its world."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from configs.task import Task
from configs.tasks_loader import load_task
from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call
from core_eval.path.scorer import score_path

DRY: dict[str, Any] = {"plants.plant_B.moisture": {"min": 0.22, "max": 0.33}}


def task(folder: Path, plan: list[Any], goal: dict[str, Any], world: str = "farm_rover", **more: Any) -> Task:
    entry = {"id": "one", "world": world, "prompt": "Do it.", "plan": plan, "goal": goal, **more}
    file = folder / "one.yaml"
    file.write_text(yaml.safe_dump({"tasks": [entry]}, sort_keys=False), encoding="utf-8")
    return load_task(str(file))


def water(*liters: float) -> list[Call]:
    return [Call("water_plant", {"plant_id": "plant_B", "liters": one}) for one in liters]


def right(task: Task, calls: list[Call]) -> bool:
    scores = score_path(task.automaton, calls)
    return scores.accepted and not scores.harmful_calls and scores.path_correctness == 1.0


WATER = [{"water_plant": {"plant_id": "plant_B", "liters": 4}}]


def test_every_split_of_the_dose_that_is_meant_is_accepted(tmp_path: Path) -> None:
    watered = task(tmp_path, WATER, DRY)
    assert all(right(watered, water(part / 20, 4 - part / 20)) for part in range(1, 80))


def test_no_split_beyond_the_goals_range_is_accepted(tmp_path: Path) -> None:
    watered = task(tmp_path, WATER, DRY)
    low, high = 3.125, 5.0
    doses = [0.1 * k for k in range(1, 50)]
    for one in doses:
        assert right(watered, water(one)) == (low <= one <= high)
        for other in doses:
            if right(watered, water(one, other)):
                assert low <= one + other <= high
    assert not right(watered, water(1.5, 1.5, 1))


def test_a_split_costs_efficiency_and_no_correctness(tmp_path: Path) -> None:
    watered = task(tmp_path, WATER, DRY)
    assert score_path(watered.automaton, water(2, 2)).efficiency == 0.5
    assert score_path(watered.automaton, water(4)).efficiency == 1.0
    assert list(watered.automaton.golden_paths()) == [("water_plant(plant_id=plant_B, liters~4)",)]


@pytest.mark.parametrize(
    ("plan", "goal"),
    [
        (WATER, {"safety_locked": True}),
        (WATER, {"plants.plant_B.moisture": {"max": 0.33}}),
        ([*WATER, "move_home", *WATER], DRY),
    ],
    ids=["no goal", "no lower bound", "twice on one plant"],
)
def test_a_dose_that_no_goal_bounds_is_as_asked(
    plan: list[Any], goal: dict[str, Any], tmp_path: Path
) -> None:
    automaton = task(tmp_path, plan, goal).automaton
    assert automaton.symbol_of(water(4)[0]) is not None
    assert automaton.symbol_of(water(3.8)[0]) is None


def test_a_plan_may_state_its_own_tolerance(tmp_path: Path) -> None:
    dose = task(tmp_path, [{"water_plant": {"plant_id": "plant_B", "liters": {"near": 4, "abs": 0.1}}}], DRY)
    assert right(dose, water(4.1))
    assert not right(dose, water(4.2))
    place = task(tmp_path, [{"move_to": {"at": "plant_B", "within": 0.3}}], DRY).automaton
    assert place.symbol_of(Call("move_to", {"x": 3.75, "y": 12.5})) is not None
    assert place.symbol_of(Call("move_to", {"x": 3.85, "y": 12.5})) is None


def test_a_place_is_reached_from_where_the_rovers_tools_reach_it(tmp_path: Path) -> None:
    for init, far in (({}, 0.99), ({"rover": {"reach": 0.6}}, 0.59)):
        drive = task(tmp_path, [{"move_to": {"at": "plant_B"}}], DRY, init=init).automaton
        assert drive.symbol_of(Call("move_to", {"x": 3.5 + far, "y": 12.5})) is not None
        assert drive.symbol_of(Call("move_to", {"x": 3.5 + far, "y": 12.7})) is None


def test_the_goal_narrows_a_pose(tmp_path: Path) -> None:
    goal = {"pose.x": {"near": 5, "abs": 0.5}, "pose.y": {"near": 5, "abs": 0.5}}
    drive = task(tmp_path, [{"move_to": {"at": "base"}}], goal).automaton
    assert drive.symbol_of(Call("move_to", {"x": 5.45, "y": 5.0})) is not None
    assert drive.symbol_of(Call("move_to", {"x": 5.55, "y": 5.0})) is None


def test_an_arm_places_within_the_slot_and_the_goal(tmp_path: Path) -> None:
    plan = [{"place": {"at": {"x": 0.5, "y": 0.3, "z": 0.02}}}]
    for goal, far in (
        ({"safety_locked": True}, 0.02),
        ({"objects.cup.x": {"near": 0.5, "abs": 0.01}}, 0.008),
    ):
        placed = task(tmp_path, plan, goal, "robotic_arm").automaton
        for beside, fits in ((far - 0.001, True), (far + 0.001, False)):
            call = Call("place", {"x": 0.5 + beside, "y": 0.3, "z": 0.024, "yaw": 1.0})
            assert (placed.symbol_of(call) is not None) == fits
        for z, fits in ((0.016, True), (0.027, True), (0.029, False)):
            assert (placed.symbol_of(Call("place", {"x": 0.5, "y": 0.3, "z": z})) is not None) == fits


def test_the_automaton_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    plan = [{"move_to": {"at": "plant_B"}}, *WATER]
    automaton = task(tmp_path, plan, DRY).automaton
    again = TaskAutomaton.from_json(automaton.to_json())
    assert again == automaton
    calls = [Call("move_to", {"x": 4.2, "y": 13.2, "yaw": 0.0}), *water(2.5, 1.5)]
    assert score_path(again, calls).path_correctness == 1.0
    assert list(again.golden_paths()) == list(automaton.golden_paths())
