"""The twin of a rig."""

from __future__ import annotations

from typing import Any

from configs.rig_config import RigConfig
from configs.tasks_loader import Task
from configs.twin_config import TwinConfig, default_twin, resolved


def twin_of(rig: RigConfig, task: Task) -> dict[str, Any] | None:
    """Return the configuration of the twin that assesses harm, for the log; None if the rig sends truth."""
    if rig.truth and (rig.twin is None or rig.world is not None):
        return None
    if rig.twin is not None:
        twin = rig.twin
    elif rig.world is not None:
        twin = TwinConfig(world=rig.world)
    elif task.world is not None:
        twin = default_twin(task.world)
    else:
        return None
    return resolved(twin).model_dump(mode="json")
