"""The commands of the CI files in examples/ci are run, in a copy of their folder."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from paths import ROOT
from warm_pathrig import warm_pathrig

pytestmark = pytest.mark.slow
EXAMPLES = ROOT / "examples" / "ci"


def github() -> tuple[dict[str, str], list[str]]:
    job = yaml.safe_load((EXAMPLES / "github-actions.yml").read_text())["jobs"]["rig"]
    return job["env"], [step["run"] for step in job["steps"] if "run" in step]


def gitlab() -> tuple[dict[str, str], list[str]]:
    job = yaml.safe_load((EXAMPLES / "gitlab-ci.yml").read_text())["rig"]
    return job["variables"], [*job["before_script"], *job["script"]]


@pytest.mark.parametrize("read", [github, gitlab])
def test_the_commands_pass_in_order(tmp_path: Path, read) -> None:
    variables, commands = read()
    folder = tmp_path / "project"
    shutil.copytree(EXAMPLES, folder)
    binaries = tmp_path / "bin"
    binaries.mkdir()
    for name, text in {
        "pathrig": f'exec {shlex.join(warm_pathrig())} "$@"',
        "pytest": f'exec {sys.executable} -m pytest -p core_eval.pytest_plugin -c /dev/null --rootdir . "$@"',
    }.items():
        (binaries / name).write_text(f"#!/bin/sh\n{text}\n")
        (binaries / name).chmod(0o755)
    summary = tmp_path / "summary.md"
    environment = {
        **os.environ,
        **variables,
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    environment.pop("PYTEST_XDIST_WORKER", None)
    assert commands[0] == "pip install wheels/pathrig-*.whl pytest"
    for command in commands[1:]:
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    assert {"rig.xml", "pytest.xml", "rig.html", "rig.db"} <= {path.name for path in folder.iterdir()}
    if read is github:
        text = summary.read_text()
        assert "No change against the baseline." in text and "| oracle | 53 of 53" in text
