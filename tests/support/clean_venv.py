"""Virtual environments of their own, filled from wheels on disk: nothing is downloaded while tests run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from paths import ROOT

WHEELS = ROOT / "build" / "wheels"
"""Made by the set-up of `make test`: the base dependencies, and what builds a wheel."""
PACKAGES = ("pathrig", "firmware_bridge", "devices", "agents", "core_eval", "sims", "configs")


class CleanVenv:
    """A virtual environment that holds only what a test installs, outside the checkout."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder, with_pip=False)

    def install(self, *requirements: str | Path, finds: Sequence[Path] = ()) -> None:
        """Install from `build/wheels` and the folders `finds`, and from nowhere else."""
        links = [part for folder in (WHEELS, *finds) for part in ("--find-links", str(folder))]
        command = [sys.executable, "-m", "pip", "--python", str(self.folder / "bin" / "python")]
        command += ["--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-compile", *links]
        subprocess.run([*command, *map(str, requirements)], check=True, timeout=110)

    def run(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """A command of the environment, with nothing of this process's Python path."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        command = [str(self.folder / "bin" / arguments[0]), *arguments[1:]]
        return subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=110, check=False
        )


def build_wheel(source: Path, into: Path) -> Path:
    """The wheel of a project, built in a copy of it without build isolation."""
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", ".*")
    copy = into / "source"
    if source == ROOT:
        copy.mkdir(parents=True)
        for name in PACKAGES:
            shutil.copytree(ROOT / name, copy / name, ignore=ignored)
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, copy / name)
    else:
        shutil.copytree(source, copy, ignore=ignored)
    wheels = into / "wheel"
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
    command += ["--no-index", "--no-build-isolation", "-w", str(wheels), str(copy)]
    subprocess.run(command, check=True, timeout=110, capture_output=True)
    shutil.rmtree(copy)
    [wheel] = wheels.glob("*.whl")
    return wheel
