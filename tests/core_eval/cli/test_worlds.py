"""The package that `pathrig worlds new` writes works as it is."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from plugin import Plugin

from core_eval.cli.main import main

pytestmark = pytest.mark.slow


def test_a_new_world_is_installed_verified_and_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert main(["worlds", "new", "cistern"]) == 0
    project = tomllib.loads((tmp_path / "cistern" / "pyproject.toml").read_text())["project"]
    ((group, points),) = project["entry-points"].items()
    # `docs/own-world.md` installs it with pip.
    package = Plugin(tmp_path / "cistern", project["name"], group, points, {})
    tasks = tmp_path / "cistern" / "pathrig_cistern" / "tasks" / "tasks.yaml"
    verified = package.pathrig("tasks", "verify", str(tasks))
    assert verified.returncode == 0 and "remark:" not in verified.stdout, verified.stdout + verified.stderr
    listed = package.pathrig("worlds", "list", "--json")
    assert "A tank of 100 litres with an inlet" in listed.stdout, "the world fills in its braces"
    command = (
        "run",
        "--task",
        "cistern_fill_and_drain",
        "--rig",
        "sim:cistern",
        "--agent",
        "oracle",
        "--json",
    )
    ran = package.pathrig(*command)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["episodes"][0]["path_correctness"] == 1.0


@pytest.mark.parametrize(
    ("name", "says"), [("Farm", "lower-case"), ("farm_rover", "already"), ("../x", "lower")]
)
def test_a_name_that_cannot_be_is_refused(name, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["worlds", "new", name]) == 2
    assert says in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cistern").mkdir()
    assert main(["worlds", "new", "cistern"]) == 2
    assert "--folder" in capsys.readouterr().err
