"""Builds the rover's firmware and the emulator of its board with make."""

from __future__ import annotations

import shutil
import subprocess
from fcntl import LOCK_EX, flock
from pathlib import Path

FIRMWARE_FOLDER = Path(__file__).parent
NEEDED = {"make": "make", "cc": "gcc", "avr-gcc": "gcc-avr", "avr-size": "binutils-avr", "simavr": "simavr"}
"""Each command that must be there, and its Debian package."""
PACKAGES = "gcc-avr avr-libc simavr libsimavr-dev libelf-dev"


class BuildError(Exception):
    """The firmware cannot be built; the text is one line that says what to do."""


def missing_packages() -> list[str]:
    """Debian packages whose command is not there."""
    return [package for command, package in NEEDED.items() if shutil.which(command) is None]


def build(world_speed: int = 1, *, test_hooks: bool = False, guard_key: str = "") -> tuple[str, str]:
    """The paths of the emulator and of a firmware whose field is `world_speed` times faster; built if needed.

    With `test_hooks` the firmware hangs when a host says so; such a build is for tests alone. With
    `guard_key`, in upper-case hexadecimal, its guard takes a table only with a code under this key.

    Raises:
        BuildError: a tool is missing, or the compiler complains.
    """
    if missing := missing_packages():
        raise BuildError(f"install {' '.join(missing)} (all that is needed: apt-get install {PACKAGES})")
    folder = FIRMWARE_FOLDER / "build"
    folder.mkdir(exist_ok=True)
    variant = [f"WORLD_SPEED={world_speed}", *(["TEST_HOOKS=1"] if test_hooks else [])]
    if guard_key:
        variant.append(f"GUARD_KEY={guard_key}")
    # One process builds at a time: another one must not start a file that is half written.
    with (folder / ".lock").open("w") as lock:
        flock(lock, LOCK_EX)
        done = subprocess.run(
            ["make", "-s", "-C", str(FIRMWARE_FOLDER), *variant],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        said = (done.stderr.strip() or "it said nothing").splitlines()
        raise BuildError(f"the firmware does not build: {said[0]}")
    name = f"rover-x{world_speed}{'-hooks' if test_hooks else ''}{'-keyed' if guard_key else ''}"
    return str(folder / "emulator"), str(folder / f"{name}.elf")
