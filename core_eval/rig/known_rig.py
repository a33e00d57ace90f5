"""The host's knowledge of a rig, from its device type and its world."""

from __future__ import annotations

from configs.rig_config import RigConfig
from configs.tasks_loader import Task
from configs.worlds_loader import World, load_world, merged_state
from core_eval.rig.links import is_driven
from devices.known_state import KnownState
from sims.world_type import world_of_device


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
