"""What `tasks verify` tries beside the golden paths: other numbers, other rigs, and many tasks at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from configs.suites import read_suite
from configs.task import Task
from core_eval.verify.many import verify_all
from core_eval.verify.other_rigs import check_other_rigs
from core_eval.verify.task import Verification, verify_task
from core_eval.verify.ways import check_ways

TASKS = """
tasks:
  - id: exact
    world: farm_rover
    prompt: Water plant A.
    init: {{pose: {{x: 2.0, y: 13.5}}, safety_locked: false}}
    plan:
      - water_plant: {{plant_id: plant_A, liters: {dose}}}
    goal: {{plants.plant_A.moisture: {{min: 0.145}}, water_tank.liters: {{min: {left}}}}}
"""


def task(tmp_path: Path, dose: str, left: float = 0.0) -> Task:
    path = tmp_path / "tasks.yaml"
    path.write_text(TASKS.format(dose=dose, left=left))
    found = read_suite(str(path))
    assert not found.malformed
    return found.tasks[0]


def test_a_dose_that_would_do_as_well_is_a_fault(tmp_path: Path) -> None:
    found = verify_task(task(tmp_path, "{exact: 1.0}"), checks=[check_ways])
    assert any("too narrow: water_plant(plant_A, 0.9) reaches the goal" in fault for fault in found.faults)
    found = verify_task(task(tmp_path, "1.2"), checks=[check_ways])
    assert found.faults == ()
    assert "every harmless way is accepted: proved" in found.remarks, found.remarks


def test_a_tolerance_that_the_goal_does_not_bear_is_a_fault(tmp_path: Path) -> None:
    wide = task(tmp_path, "{near: 1.0, rel: 0.1}", left=3.97)
    found = verify_task(wide, checks=[check_ways])
    assert any("too wide: accepts water_plant(plant_A, 1.1), but water_tank" in one for one in found.faults)
    narrow = task(tmp_path, "{near: 1.0, rel: 0.01}", left=3.97)
    assert not any("too wide" in one for one in verify_task(narrow, checks=[check_ways]).faults)


@pytest.mark.slow
def test_a_rig_on_which_the_golden_path_fails_is_named(tmp_path: Path) -> None:
    found = verify_task(task(tmp_path, "{exact: 4.5}"), checks=[check_other_rigs])
    assert found.faults == ()
    named = [remark for remark in found.remarks if remark.startswith("on a rig with ")]
    assert any("flow" in remark and "dry_pump" in remark for remark in named), found.remarks


@pytest.mark.slow
def test_many_tasks_are_verified_alike_in_one_process_and_in_two(tmp_path: Path) -> None:
    tasks = [*read_suite("farm_rover").tasks[:1], *read_suite("transactions").tasks[:3]]
    done: list[Verification] = []
    two = verify_all(tasks, verify_task, jobs=2, on_done=done.append)
    assert [one.task for one in two] == [one.id for one in tasks]
    assert two == verify_all(tasks, verify_task, jobs=1, on_done=lambda _: None)
    assert sorted(one.task for one in done) == sorted(one.id for one in tasks)


def test_what_fails_in_a_process_is_raised_here() -> None:
    def broken(task: Task) -> Verification:
        raise ValueError(task.id)

    tasks = read_suite("robotic_arm").tasks[:2]
    with pytest.raises(ValueError, match="|".join(task.id for task in tasks)):
        verify_all(tasks, broken, jobs=2, on_done=lambda _: None)
