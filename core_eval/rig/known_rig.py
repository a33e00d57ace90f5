"""What the host knows of a rig before its first call: its world, its twin, and the state for the guard."""

from __future__ import annotations

from typing import Any

from configs.rig_config import RigConfig
from configs.task import Task
from configs.twin_config import TwinConfig, default_twin, resolved
from configs.worlds_loader import World, load_world, merged_state
from core_eval.rig.links import is_driven
from devices.known_state import KnownState
from sims.world_type import world_of_device


def twin_of(rig: RigConfig, task: Task) -> dict[str, Any] | None:
    """Return the configuration of the twin that assesses harm, for the log; None if the rig sends truth."""
    if rig.truth and (rig.twin is None or rig.world is not None):
        return None
    twin = model_of(rig, task)
    return None if twin is None else twin.model_dump(mode="json")


def model_of(rig: RigConfig, task: Task) -> TwinConfig | None:
    """Return the twin of a rig, by default one that has its world or the task's; None where none is known."""
    twin = rig.twin
    if twin is None and rig.world is not None:
        twin = TwinConfig(world=rig.world)
    if twin is None and task.world is not None:
        twin = default_twin(task.world)
    return None if twin is None else resolved(twin, physical=rig.world is None)


def world_of_rig(config: RigConfig, simulates: World | None) -> World | None:
    """Return the rig's `site`, else its twin's world, else the world it simulates; None if it has none."""
    layout = config.site or (None if config.twin is None else config.twin.world)
    return simulates if layout is None else load_world(layout)


def known_rig(
    config: RigConfig, simulates: World | None, task: Task, *, simulated: bool, stopped: bool = False
) -> KnownState | None:
    """Return the knowledge at the start of an episode; None for a device without known interlocks.

    Of a device file's registers, those that a stop sets are known, if the rig has confirmed a stop. The
    layout of a physical rig is its `site` or its twin's world; that of a simulator is its world with the
    task's overrides. The initial pose is known only for a simulator that this host has started.
    """
    if task.device.rules is not None:
        return task.device.rules.known_state(stopped=stopped)
    kind = world_of_device(task.device.name)
    if kind is None or kind.device != task.device or kind.known_state is None or is_driven(config):
        return None
    site = world_of_rig(config, simulates)
    world = None
    if site is not None:
        world = merged_state(site, task.init) if simulated else site.state
    ours = config.spawn or config.in_process
    if world is not None and not isinstance(world, kind.state):
        return None
    return kind.known_state(world, simulated and ours)
