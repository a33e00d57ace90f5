"""The software and the machine that computed a run."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from agents.registry import model_file
from core_eval.text.file_hash import model_sha256

PACKAGES = (
    "pathrig",
    "amqtt",
    "huggingface-hub",
    "Jinja2",
    "llama-cpp-python",
    "mujoco",
    "numpy",
    "paho-mqtt",
    "pydantic",
    "pyserial",
    "PyYAML",
)


def package_versions() -> dict[str, str]:
    """Return name to version of the installed packages that a result depends on."""
    return {"sqlite": sqlite3.sqlite_version, **_installed()}


@cache
def _installed() -> Mapping[str, str]:
    versions = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def host_info() -> dict[str, Any]:
    """Return the machine's type, system, processor count and Python version, without its host name."""
    return {
        "machine": platform.machine(),
        "system": platform.platform(),
        "cpus": os.cpu_count(),
        "python": sys.version.split()[0],
    }


def agent_info(spec: str) -> dict[str, Any]:
    """Return name, size and SHA-256 of the model file of an agent's specification; empty without a file."""
    path = model_file(spec)
    if path is None:
        return {}
    return {"file": path.name, "bytes": path.stat().st_size, "sha256": model_sha256(path)}
