"""Suites: which tasks a name, a file, a folder or a pattern of files means."""

from __future__ import annotations

from pathlib import Path

import pytest

from configs.errors import ConfigError
from configs.suites import read_suite, task_ref
from configs.tasks_loader import TASKS_FOLDER, list_tasks, load_task

TASK = "tasks:\n  - {{id: {0}, world: farm_rover, prompt: 'Lock.', plan: [lock_safety_mode]}}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "more").mkdir()
    for name in ("b", "a", "more/c"):
        (tmp_path / f"{name}.yaml").write_text(TASK.format(Path(name).name))
    (tmp_path / "notes.txt").write_text("no tasks")
    return tmp_path


def ids(ref: str) -> list[str]:
    return [task.id for task in read_suite(ref).tasks]


def test_a_file_a_folder_and_a_pattern(folder: Path) -> None:
    assert ids(str(folder / "b.yaml")) == ["b"]
    assert ids(str(folder)) == ["a", "b", "c"]
    assert ids(f"{folder}/*.yaml") == ["a", "b"]
    assert ids(f"{folder}/**/[bc].yaml") == ["b", "c"]


@pytest.mark.slow
def test_core_is_of_each_shipped_template_and_a_world_is_its_own() -> None:
    tasks = [task for task in list_tasks() if task.file.is_relative_to(TASKS_FOLDER)]
    shipped = [task.id for task in tasks]
    assert {task.template for task in read_suite("core").tasks} >= {task.template for task in tasks}
    for world in {task.world.name for task in tasks if task.world is not None}:
        own = [task.id for task in tasks if task.world is not None and task.world.name == world]
        assert ids(world) == own
    arm = ids("arm")
    assert set(arm) < set(shipped) and arm == ids("robotic_arm")
    assert {load_task(one).device.name for one in arm} == {"robotic_arm"}


@pytest.mark.slow
def test_every_reference_leads_back_to_its_task(folder: Path) -> None:
    for task in (*read_suite("core").tasks, *read_suite(str(folder)).tasks):
        again = load_task(task_ref(task))
        assert (again.id, again.prompt, again.file) == (task.id, task.prompt, task.file)


def test_a_malformed_task_does_not_hide_the_others(folder: Path) -> None:
    (folder / "z.yaml").write_text(
        TASK.format("z") + TASK.format("wrong").partition("\n")[2].replace("lock", "fly")
    )
    found = read_suite(str(folder))
    assert [task.id for task in found.tasks] == ["a", "b", "c", "z"]
    assert list(found.malformed) == ["wrong"] and "fly_safety_mode" in found.malformed["wrong"][0]


@pytest.mark.parametrize(
    ("ref", "says"),
    [
        ("nothing", "no suite 'nothing': name a file, a folder, a pattern of files, a task, or one of "),
        ("{}/empty", "there is no task file"),
        ("{}/*.json", "there is no task file"),
    ],
)
def test_a_suite_without_tasks_is_one_line(folder: Path, ref: str, says: str) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(ConfigError) as caught:
        read_suite(ref.format(folder))
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_a_task_is_a_suite_of_its_own(tmp_path: Path) -> None:
    assert [task.id for task in read_suite("fill_up_rent_that_is_full@4").tasks] == [
        "fill_up_rent_that_is_full@4"
    ]
    with pytest.raises(ConfigError, match="only a template has instances by seed"):
        read_suite("users_list@4")
