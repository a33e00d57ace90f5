"""Suites: many tasks by one name, a file, a folder or a pattern of files."""

from __future__ import annotations

from dataclasses import replace
from glob import glob, has_magic
from pathlib import Path

from configs.errors import ConfigError
from configs.task import Task
from configs.tasks_loader import (
    TASKS_FOLDER,
    ScoredTasks,
    TaskFile,
    load_scored,
    merged_files,
    read_tasks,
    task_builder,
    task_files,
)
from configs.worlds_loader import known_world
from configs.yaml_file import nearest
from core_eval.text.foreign_text import STDIN
from devices.tool import Effect
from sims.world_type import WORLD_TYPES

CORE = "core"
"""The suite that is released with the kit."""
SUITES_FOLDER = Path(__file__).parent / "suites"
HAZARDS = "hazards"
"""The suite of tasks with amounts or places, of worlds that declare hazards; a run of it draws them."""
LEAST_AMOUNTS = 2
"""Calls in the golden path of its tasks that give an amount, or take a thing or put it down.

Interlocks refuse most mistakes in other calls.
"""
SUFFIXES = (".yaml", ".yml", ".json")


def read_suite(ref: str) -> TaskFile:
    """Return the tasks of a suite; malformed ones are reported instead of raised.

    Args:
        ref: `core`, `hazards`, a world's name, a task file, a folder of task files, a pattern such as
            `tasks/*.yaml`, or a single task as `load_task` takes it.

    Raises:
        ConfigError: there is no such suite, it has no tasks, or a file is wrong as a whole.
    """
    world = known_world(ref)
    if world is not None or ref == HAZARDS:
        found = merged_files(read_tasks(file, world=world) for file in task_files())
        own = tuple(task for task in found.tasks if _belongs(task, world))
        found = replace(found, tasks=own)
    elif (task := _task(ref)) is not None:
        found = TaskFile((task,), {})
    else:
        found = merged_files(read_tasks(file) for file in suite_files(ref))
    if not found.tasks and not found.malformed:
        raise ConfigError(f"suite {ref!r} has no tasks")
    return found


def every_task() -> TaskFile:
    """Return the tasks that ship with the kit, and the instances of templates that are in `core`."""
    shipped = read_tasks()
    known = {task.id for task in shipped.tasks}
    return merged_files([shipped, *(read_tasks(file, without=known) for file in suite_files(CORE))])


def scored_suite(ref: str) -> ScoredTasks:
    """Return the tasks of a task file or suite for scoring; of CORE's JSON without regard to worlds.

    Raises:
        ConfigError: there is no such suite, a file is wrong as a whole, or no task of it can be used.
    """
    path = Path(ref)
    is_file = path == STDIN or path.is_file()
    return load_scored(path) if is_file else ScoredTasks.of(read_suite(ref))


def suite_files(ref: str) -> list[Path]:
    """Return the task files of a suite, in the order of their names.

    Raises:
        ConfigError: there are none.
    """
    if ref == CORE:
        return [SUITES_FOLDER / "core.yaml"]
    path = Path(ref)
    if path == STDIN or path.is_file():
        return [path]
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
    elif has_magic(ref):
        # A pattern may be absolute, which Path.glob refuses.
        found = glob(ref, recursive=True)  # noqa: PTH207
        files = sorted(path for path in map(Path, found) if path.is_file())
    else:
        names = nearest([CORE, HAZARDS, *WORLD_TYPES], ref)
        raise ConfigError(
            f"no suite {ref!r}: name a file, a folder, a pattern of files, a task, or one of {names}"
        )
    if not files:
        raise ConfigError(f"suite {ref!r}: there is no task file ({', '.join(SUFFIXES)})")
    return files


def _belongs(task: Task, world: str | None) -> bool:
    """Return whether a task's world is that one; None: whether it belongs to the suite `hazards`."""
    if task.world is None or world is not None:
        return task.world is not None and task.world.type.name == world
    return bool(task.world.hazards) and _amounts(task) >= LEAST_AMOUNTS


def _amounts(task: Task) -> int:
    """Return how many calls of a golden path take a number, or undo one that does; no reads, no drives."""
    numeric = {
        tool.name
        for tool in task.device.tools
        if tool.effect is not Effect.READ
        and tool.inverse != tool.name
        and any(field.annotation is float for field in tool.arguments.model_fields.values())
    }
    tools = numeric | {tool.name for tool in task.device.tools if tool.inverse in numeric}
    path = next(task.automaton.golden_paths(limit=1), ())
    return sum(task.automaton.symbols[name].tool in tools for name in path)


def _task(ref: str) -> Task | None:
    """Return the task that a reference means; None where it means files, or nothing."""
    if ref in (CORE, HAZARDS, str(STDIN)) or Path(ref).exists() or has_magic(ref):
        return None
    try:
        build = task_builder(ref)
    except ConfigError:
        if "#" in ref or "@" in ref:
            raise
        return None
    return build({})


def task_ref(task: Task) -> str:
    """Return the reference by which `task_builder` finds a task again."""
    shipped = task.file.is_relative_to(TASKS_FOLDER)
    return task.id if shipped else f"{task.file}#{task.id}"
