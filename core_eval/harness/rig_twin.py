"""The twin of a rig."""

from __future__ import annotations

from typing import Any

from configs.rigs_loader import RigConfig
from configs.tasks_loader import Task
from configs.twin_config import TwinConfig, default_twin


def twin_of(rig: RigConfig, task: Task) -> dict[str, Any] | None:
    """Return the configuration of the twin that assesses harm, for the log; None if the rig sends truth."""
    if rig.truth and (rig.twin is None or rig.world is not None):
        return None
    if rig.twin is not None:
        return rig.twin.model_dump(mode="json")
    if rig.world is not None:
        return TwinConfig(world=rig.world).model_dump(mode="json")
    return None if task.world is None else default_twin(task.world).model_dump(mode="json")
