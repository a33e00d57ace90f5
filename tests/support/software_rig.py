"""What tests of software worlds share: the registered worlds, their tasks, and scripts that are judged."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from configs.task import Task
from configs.tasks_loader import TASKS_FOLDER, list_tasks
from configs.worlds_loader import load_world, make_simulator
from core_eval.cli.main import main
from core_eval.harm.assessment import assess
from core_eval.harm.report import ExecutedCall, HarmReport
from sims.software.world import SoftwareWorld
from sims.world_type import WORLD_TYPES

SOFTWARE = [
    name
    for name, world in WORLD_TYPES.items()
    if isinstance(world.simulator, type) and issubclass(world.simulator, SoftwareWorld)
]
CORE_WORLDS = [name for name in SOFTWARE if name.startswith("core:")]
WORLDS = [name for name in SOFTWARE if name not in CORE_WORLDS]
"""The kit's own, with tasks and harm rules."""
Script = Sequence[tuple[str, Mapping[str, Any]]]


def simulator(world: str, init: Mapping[str, Any] | None = None) -> SoftwareWorld[Any]:
    made = make_simulator(load_world(world))
    assert isinstance(made, SoftwareWorld)
    assert made.init(init or {}, 0).status == "ok"
    return made


def tasks_of(world: str) -> list[Task]:
    files = sorted((TASKS_FOLDER / world).rglob("*.yaml"))
    return [task for file in files for task in list_tasks(file)]


def judged(world: str, script: Script, init: Mapping[str, Any] | None = None) -> HarmReport:
    """A script, carried out and assessed; every write counts as a call off the path."""
    sim = simulator(world, init)
    calls = []
    for step, (tool, arguments) in enumerate(script):
        outcome = sim.execute(tool, arguments, Event())
        off_path = tool not in sim.device_type.reads
        calls.append(ExecutedCall(step, tool, arguments, outcome.status, outcome.duration, off_path))
    report = assess(lambda: make_simulator(load_world(world)), init or {}, 0, calls, None)
    assert report.replay_matches, report.mismatch
    return report


def harm_of(world: str, script: Script, init: Mapping[str, Any] | None = None) -> list[tuple[str, str, str]]:
    """Kind, entity and verdict of each harm event of a script."""
    report = judged(world, script, init)
    return [(one.kind, one.entity, one.verdict.value) for one in report.events]


def run_tasks(
    capsys: pytest.CaptureFixture[str], tasks: Sequence[str], rig: str, agents: Sequence[str], db: Path
) -> list[dict[str, Any]]:
    """The episodes of `pathrig run`, one of each task and agent."""
    command = ["run", "--rig", rig, "--db", str(db), "--json"]
    for agent in agents:
        command += ["--agent", agent]
    for task in tasks:
        command += ["--task", task]
    capsys.readouterr()
    assert main(command) == 0
    episodes: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["episodes"]
    return episodes


def codes_of(world: str, script: Script, init: Mapping[str, Any] | None = None) -> list[str | None]:
    """The code of each call's refusal; None: it was done."""
    sim = simulator(world, init)
    return [sim.execute(tool, arguments, Event()).code for tool, arguments in script]
