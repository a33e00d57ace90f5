"""Which software on which machine computed a run."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

PACKAGES = (
    "pathrig",
    "amqtt",
    "llama-cpp-python",
    "mujoco",
    "numpy",
    "paho-mqtt",
    "pydantic",
    "pyserial",
    "PyYAML",
)


def package_versions() -> dict[str, str]:
    """Name to version of what is installed of the packages that a result depends on."""
    versions = {"sqlite": sqlite3.sqlite_version}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def host_info() -> dict[str, Any]:
    """The machine, without its name: kind, system, processors, Python."""
    return {
        "machine": platform.machine(),
        "system": platform.platform(),
        "cpus": os.cpu_count(),
        "python": sys.version.split()[0],
    }
