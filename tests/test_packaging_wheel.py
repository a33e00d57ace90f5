"""The wheel, installed into a clean environment outside the checkout, does the rover part of the demo."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from clean_venv import PACKAGES, ROOT, CleanVenv, build_wheel

from core_eval.cli.demo import ROVER_TASKS


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_holds_the_licence_and_the_types_and_no_training(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(names)
    assert not [name for name in names if name.startswith(("training/", "tests/", "benchmarks/"))]


def test_the_rover_part_of_the_demo_runs_from_the_wheel(wheel: Path, tmp_path: Path):
    clean = CleanVenv(tmp_path / "venv")
    clean.install(wheel)
    tasks = [part for task in ROVER_TASKS for part in ("--task", task)]
    ran = clean.run(
        "pathrig", "run", *tasks, "--rig", "sim-farm-mqtt", "--agent", "oracle", "--json", cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr
    episodes = json.loads(ran.stdout)["episodes"]
    assert [episode["path_correctness"] for episode in episodes] == [1.0] * len(ROVER_TASKS)
    script = (clean.folder / "bin" / "pathrig").read_text(encoding="utf-8")
    assert script.startswith(f"#!{clean.folder}/bin/python")
