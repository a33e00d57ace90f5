"""Processes that tests wait for."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def wait_for(condition: Callable[[], object], seconds: float = 20.0) -> object:
    """What the condition returned once it held, or last."""
    deadline = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def ended(process: int) -> bool:
    """Whether a process ends within some seconds; who reaps it is not known."""
    return bool(wait_for(lambda: _state(process) in ("", "Z")))


def children_of(parent: int, word: str) -> list[int]:
    """The processes of this parent whose command line holds the word."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                whose = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if whose == parent and word.encode() in words:
                found.append(int(entry.name))
    return found


def _state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
