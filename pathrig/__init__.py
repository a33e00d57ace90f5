"""What a model does on the way: score paths of tool calls, guard them, run episodes on rigs, read the logs.

The names of `__all__` are the kit's API. They keep their meaning within a major version; whatever else can be
imported from the kit's packages may change at any release. Each name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathrig.agent import Agent as Agent
    from pathrig.device import Device as Device
    from pathrig.log import compare as compare
    from pathrig.log import open_log as open_log
    from pathrig.monitor import Monitor as Monitor
    from pathrig.runs import run as run
    from pathrig.tasks import load_tasks as load_tasks
    from pathrig.tasks import score as score
    from pathrig.tasks import score_file as score_file
    from pathrig.world import World as World

__all__ = [
    "Agent",
    "Device",
    "Monitor",
    "World",
    "compare",
    "load_tasks",
    "open_log",
    "run",
    "score",
    "score_file",
]

_MODULES = {
    "Agent": "agent",
    "Device": "device",
    "Monitor": "monitor",
    "World": "world",
    "compare": "log",
    "load_tasks": "tasks",
    "open_log": "log",
    "run": "runs",
    "score": "tasks",
    "score_file": "tasks",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'pathrig' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f"pathrig.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
