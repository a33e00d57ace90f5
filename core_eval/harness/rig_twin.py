"""Which rig needs a twin, and which it is."""

from __future__ import annotations

from typing import Any

from configs.rigs_loader import RigConfig
from configs.tasks_loader import Task
from configs.twin_config import TwinConfig, default_twin


def twin_of(rig: RigConfig, task: Task) -> dict[str, Any] | None:
    """The twin that is to tell the harm of a rig's episodes, for the log; None where the rig does."""
    if rig.truth and (rig.twin is None or rig.world is not None):
        return None
    if rig.twin is not None:
        return rig.twin.model_dump(mode="json")
    if rig.world is not None:
        return TwinConfig(world=rig.world).model_dump(mode="json")
    return None if task.world is None else default_twin(task.world).model_dump(mode="json")
