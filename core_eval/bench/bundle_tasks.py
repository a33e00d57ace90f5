"""Checks of a bundle's episodes: each is of a cell of its run's configuration, and of a task of this kit.

A task is held against what this kit has under the same suite: its words, automaton, goal and start. Of a
suite that is a file this kit has none: what is read here is what it ships.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

from agents.names import agent_names
from configs.exam import ExamTaken
from configs.suite_manifest import Manifest
from configs.suites import CORE, HAZARDS, read_suite
from configs.task import Task
from core_eval.bench.bundle import BundleContent, BundleError
from core_eval.log import EpisodeRow, LogReader
from core_eval.run.config import RunConfig
from core_eval.run.episode_start import task_definition
from firmware_bridge.guard import GuardMode
from sims.world_type import WORLD_TYPES


def check_tasks(
    path: Path, content: BundleContent, log: Path, exams: Container[ExamTaken | None]
) -> list[str]:
    """Hold the episodes of a log against its runs and this kit's tasks; return what is not known here.

    Raises:
        BundleError: they are of another exam, cell or task.
    """
    known: dict[str, Task] = {}
    notes = []
    for suite in content.suites:
        ships = suite.name in (CORE, HAZARDS) or suite.name in WORLD_TYPES
        found = read_suite(suite.name) if ships else None
        if found is None or Manifest.of(suite.name, found.tasks).measured.digest != suite.digest:
            notes.append(f"its tasks are not known here: suite {suite.name} {suite.digest[:8]}")
        else:
            known |= {task.id: task for task in found.tasks}
    if not notes:
        _check_places(path, content, known)
    with LogReader(log) as reader:
        for run in reader.runs():
            config = RunConfig.from_log(run.config)
            if config.exam not in exams:
                raise BundleError(f"{path}: run {run.id} of its log is of another exam")
            if config.draws or config.init is not None or config.limits != content.exam_file.limits:
                raise BundleError(f"{path}: run {run.id} of its log has other starts or limits than its exam")
            for row in reader.episodes(run.id):
                if (fault := _cell_fault(config, row)) is not None:
                    raise BundleError(f"{path}: episode {row.id} has another {fault} than its run")
                task = known.get(row.task)
                if task is None and not notes:
                    raise BundleError(f"{path}: episode {row.id}: its suites have no task {row.task}")
                if task is not None and (fault := _task_fault(row, reader.automaton(row), task)) is not None:
                    raise BundleError(f"{path}: episode {row.id} has another {fault} than task {row.task}")
    return notes


def _check_places(path: Path, content: BundleContent, known: Mapping[str, Task]) -> None:
    """Refuse a choice of tasks: of each device that is measured, all tasks of the suites are.

    Raises:
        BundleError: one is missing, or is none of theirs.
    """
    placed = {task.rpartition("#")[2] for task, _ in content.places}
    if unknown := sorted(placed - known.keys()):
        raise BundleError(f"{path}: its suites have no task {unknown[0]}")
    devices = {known[one].device.name for one in placed}
    if missing := sorted({one.id for one in known.values() if one.device.name in devices} - placed):
        raise BundleError(f"{path}: it leaves out {len(missing)} tasks of its suites, such as {missing[0]}")


def _cell_fault(config: RunConfig, row: EpisodeRow) -> str | None:
    """Return what of an episode is not that of its cell; None where all is."""
    place, repeat = divmod(row.number, config.episodes)
    if not 0 <= place < len(config.cells):
        return "number"
    cell = config.cells[place]
    names = agent_names(one.agent for one in config.cells)
    found = {
        "agent": row.agent == names[cell.agent],
        "task": row.task == cell.task.rpartition("#")[2],
        "seed": row.seed == config.seed + repeat,
        "guard": config.guard is None and row.guard == GuardMode.OBSERVE,
    }
    return next((what for what, agrees in found.items() if not agrees), None)


def _task_fault(row: EpisodeRow, automaton: Any, task: Task) -> str | None:
    """Return what of an episode is not that of a task; None where all is.

    The world's state is compared where the kits have the same version of that world.
    """
    own, logged = task_definition(task), row.definition
    found = {
        "automaton": automaton == task.automaton,
        "prompt": logged.prompt == own.prompt,
        "goal": _same(logged.goal, own.goal),
        "answer": (logged.answer, logged.decline) == (own.answer, own.decline),
        "caution": _same(logged.cautions, own.cautions),
        "start": _same(row.init, task.init) and row.hazards is None,
        "world": logged.world_version != own.world_version or _same(logged.world_state, own.world_state),
    }
    return next((what for what, agrees in found.items() if not agrees), None)


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
