"""Virtual environments of their own, filled from wheels on disk: nothing is downloaded while tests run."""

from __future__ import annotations

import fcntl
import hashlib
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
BESIDE = ("pyproject.toml", "README.md", "LICENSE")


class CleanVenv:
    """A virtual environment of the base dependencies and what a test installs, outside the checkout.

    The dependencies are shared by all, as to install and to compile them takes seconds; pip finds them there.

    Args:
        folder: where it is made.
        kit: with the kit's wheel, which is shared, too.
    """

    def __init__(self, folder: Path, *, kit: bool = False) -> None:
        self.folder = folder
        venv.create(folder, with_pip=False)
        (site,) = folder.glob("lib/python*/site-packages")
        (site / "base.pth").write_text(f"{base_dependencies()}\n")
        if kit:
            installed = kit_wheel().parent.with_name("site")
            (site / "kit.pth").write_text(f"{installed}\n")
            _, _, script = (installed / "bin" / "pathrig").read_text(encoding="utf-8").partition("\n")
            (folder / "bin" / "pathrig").write_text(f"#!{folder}/bin/python\n{script}")
            (folder / "bin" / "pathrig").chmod(0o755)

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


def base_dependencies() -> Path:
    """The folder of the base dependencies, which is filled once for these wheels and this Python."""
    names = sorted(wheel.name for wheel in WHEELS.glob("*.whl"))
    mark = hashlib.sha256(repr((names, sys.version)).encode()).hexdigest()[:12]
    folder = ROOT / "build" / f"base-{mark}"
    with (ROOT / "build" / "base.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            partial = ROOT / "build" / "base.partial"
            shutil.rmtree(partial, ignore_errors=True)
            command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
            command += ["--no-index", "--find-links", str(WHEELS), "--target", str(partial)]
            wanted = ROOT / "build" / "base_dependencies.txt"
            subprocess.run([*command, "-r", str(wanted)], check=True, timeout=110)
            partial.rename(folder)
    return folder


def kit_wheel() -> Path:
    """The wheel of the kit, which is built once for what the checkout holds now, and installed beside."""
    held = hashlib.sha256(sys.version.encode())
    files = sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*"))
    for path in (*files, *map(ROOT.joinpath, BESIDE)):
        if path.is_file() and "__pycache__" not in path.parts:
            held.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    folder = ROOT / "build" / f"kit-{held.hexdigest()[:12]}"
    with (ROOT / "build" / "kit.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            for old in (ROOT / "build").glob("kit-*"):
                shutil.rmtree(old)
            partial = ROOT / "build" / "kit.partial"
            shutil.rmtree(partial, ignore_errors=True)
            command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
            command += ["--no-index", "--no-deps", "--no-compile", "--target", str(partial / "site")]
            subprocess.run([*command, str(build_wheel(ROOT, partial))], check=True, timeout=110)
            partial.rename(folder)
    [wheel] = folder.glob("wheel/*.whl")
    return wheel


def build_wheel(source: Path, into: Path) -> Path:
    """The wheel of a project, built in a copy of it without build isolation."""
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", ".*")
    copy = into / "source"
    if source == ROOT:
        copy.mkdir(parents=True)
        for name in PACKAGES:
            shutil.copytree(ROOT / name, copy / name, ignore=ignored)
        for name in BESIDE:
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
