"""Which software on which machine computed a run."""

from __future__ import annotations

import hashlib
import os
import platform
import sqlite3
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
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


def agent_info(spec: str) -> dict[str, Any]:
    """What a specification leaves open: for a model in a file, which file that was, by size and SHA-256."""
    kind, _, rest = spec.partition(":")
    if kind != "llama":
        return {}
    from agents.backends.llama_backend import SHIPPED_MODEL

    path = Path(rest) if rest else SHIPPED_MODEL
    return {"file": path.name, "bytes": path.stat().st_size, "sha256": _digest(path)}


@cache
def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
