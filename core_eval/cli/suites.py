"""Suites as the verbs of `pathrig suite` read them: tasks, manifests, and what a log measured of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from agents.names import without_folders
from configs.suite_manifest import Manifest
from configs.suites import read_suite
from configs.task import Task
from core_eval.cli.output import UsageError
from core_eval.log import EpisodeRow, LogReader
from core_eval.run.config import RunConfig
from core_eval.run.episode_start import task_definition
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


def read_manifest(path: Path) -> dict[str, Any]:
    """Return a manifest as it is written in a file."""
    try:
        written = parse_json(path.read_bytes())
    except (OSError, ForeignJsonError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None
    if not isinstance(written, dict) or not isinstance(written.get("tasks"), dict):
        raise UsageError(f"{path}: is no manifest; write one with `pathrig suite build`")
    return written
