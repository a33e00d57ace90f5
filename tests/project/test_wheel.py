"""The wheel, installed into a clean environment outside the checkout, does the rover part of the demo."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from clean_venv import PACKAGES, ROOT, CleanVenv, kit_wheel

from core_eval.cli.demo import ROVER_TASKS

pytestmark = [pytest.mark.broker, pytest.mark.slow]
INFO = "other_agents-1.dist-info"


@pytest.fixture(scope="module")
def wheel() -> Path:
    return kit_wheel()


@pytest.fixture(scope="module")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> CleanVenv:
    made = CleanVenv(tmp_path_factory.mktemp("clean") / "venv")
    made.install(wheel)
    return made


def test_the_wheel_holds_the_licence_and_the_types_and_no_training(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(names)
    of_configs = (path for kind in ("*.yaml", "*.json") for path in (ROOT / "configs").rglob(kind))
    assert {path.relative_to(ROOT).as_posix() for path in of_configs} <= set(names)
    assert not [name for name in names if name.startswith(("training/", "tests/", "benchmarks/"))]


def test_the_rover_part_of_the_demo_runs_from_the_wheel(clean: CleanVenv, tmp_path: Path):
    tasks = [part for task in ROVER_TASKS for part in ("--task", task)]
    ran = clean.run(
        "pathrig", "run", *tasks, "--rig", "sim-farm-mqtt", "--agent", "oracle", "--json", cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr
    episodes = json.loads(ran.stdout)["episodes"]
    assert [episode["path_correctness"] for episode in episodes] == [1.0] * len(ROVER_TASKS)
    script = (clean.folder / "bin" / "pathrig").read_text(encoding="utf-8")
    assert script.startswith(f"#!{clean.folder}/bin/python")


# Last, as it spoils the environment.
def test_another_distribution_with_a_package_of_the_same_name_is_named(clean: CleanVenv, tmp_path: Path):
    files = {
        "agents/__init__.py": "import a_module_that_is_not_there\n",
        f"{INFO}/METADATA": "Metadata-Version: 2.1\nName: other-agents\nVersion: 1\n",
        f"{INFO}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{INFO}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{INFO}/RECORD"))
    other = tmp_path / "other_agents-1-py3-none-any.whl"
    with zipfile.ZipFile(other, "w") as made:
        for name, text in files.items():
            made.writestr(name, text)
    clean.install(other)
    for verb in (("run", "--help"), ("tasks", "list"), ("show", "x.db")):
        ran = clean.run("pathrig", *verb, cwd=tmp_path)
        assert ran.returncode == 2
        [line] = ran.stderr.splitlines()
        assert "other-agents" in line
        assert "'agents'" in line
        assert "venv" in line
