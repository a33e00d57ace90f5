"""Suites as the verbs of `pathrig suite` take them: tasks, manifests, and episodes, run or in a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from agents.names import agent_name, without_folders
from configs.suite_manifest import Manifest
from configs.suites import read_suite
from configs.task import Task
from core_eval.cli.output import UsageError
from core_eval.cli.progress import progress
from core_eval.cli.task_places import task_places
from core_eval.log import EpisodePlanned, EpisodeRow, LogReader, RunLog
from core_eval.run.config import Cell, RunConfig
from core_eval.run.episode_start import task_definition
from core_eval.run.parts import load_parts
from core_eval.run.side_by_side import SideBySide
from core_eval.score.episodes import counted
from core_eval.text.foreign_json import ForeignJsonError, parse_json
from core_eval.text.json_text import to_json

Suite = Annotated[str, typer.Argument(help="core, a world's name, a task file, a folder or a pattern.")]


def manifest_of(suite: str) -> Manifest:
    """Return the manifest of a suite."""
    return manifest_and_tasks(suite)[0]


def manifest_and_tasks(suite: str) -> tuple[Manifest, Sequence[Task]]:
    """Return the manifest of a suite and its tasks."""
    tasks = read_suite(suite).tasks
    return Manifest.of(without_folders(suite), tasks), tasks


def episodes_of(db: Path, suite: str, tasks: Sequence[Task]) -> list[EpisodeRow]:
    """Return the episodes that count of a log's runs of a suite, of its tasks that are now as they were."""
    now = {task.id: (to_json(asdict(task_definition(task))), to_json(dict(task.init))) for task in tasks}
    with LogReader(db) as reader:
        runs = [
            run
            for run in reader.runs()
            if [one.name for one in RunConfig.from_log(run.config).suites] == [without_folders(suite)]
        ]
        rows = counted(row for run in runs for row in reader.episodes(run.id))
    # Many episodes share a definition.
    definitions = {id(row.definition): row.definition for row in rows}
    written = {key: to_json(asdict(definition)) for key, definition in definitions.items()}
    return [
        row for row in rows if now.get(row.task) == (written[id(row.definition)], to_json(dict(row.init)))
    ]


def run_agents(suite: str, agents: list[str], seed: int, db: Path, jobs: int) -> list[EpisodeRow]:
    """Run every agent on every task in the task's own world; return the episodes.

    What the log holds of the suite's tasks as they are now, with the same seed, is not run again.
    """
    places, measured = task_places([], [suite], [])
    tasks = read_suite(suite).tasks

    def kept() -> list[EpisodeRow]:
        return [row for row in episodes_of(db, suite, tasks) if row.seed == seed] if db.exists() else []

    done = {(row.task, row.agent) for row in kept()}
    cells = tuple(
        Cell(task=task, rig=rig, agent=agent)
        for agent in agents
        for task, rig in places
        if (task.rpartition("#")[2], agent_name(agent)) not in done
    )
    if cells:
        config = RunConfig(cells=cells, suites=measured, seed=seed)
        with progress("episodes", len(cells)) as advance, RunLog(db) as log:

            def emit(event: object) -> None:
                if isinstance(event, EpisodePlanned):
                    advance(1)

            SideBySide(config, load_parts(config), log, emit, jobs).start()
    wanted = {agent_name(agent) for agent in agents}
    return [row for row in kept() if row.agent in wanted]


def read_manifest(path: Path) -> dict[str, Any]:
    """Return a manifest as it is written in a file."""
    try:
        written = parse_json(path.read_bytes())
    except (OSError, ForeignJsonError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None
    if not isinstance(written, dict) or not isinstance(written.get("tasks"), dict):
        raise UsageError(f"{path}: is no manifest; write one with `pathrig suite build`")
    return written
