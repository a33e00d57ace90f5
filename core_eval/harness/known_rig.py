"""What a host may know of the rig that it drives: by the device's type, and by the world that it names."""

from __future__ import annotations

from configs.drivers_loader import load_driver
from configs.rigs_loader import RigConfig
from configs.tasks_loader import Task
from configs.worlds_loader import World, load_world, merged_state
from devices.known_state import KnownState
from sims.world_type import world_of_device


def world_of_rig(config: RigConfig, simulates: World | None) -> World | None:
    """Where a rig works: its `site`, or its twin's world, or what it simulates; None where nothing tells."""
    layout = config.site or (None if config.twin is None else config.twin.world)
    return simulates if layout is None else load_world(layout)


def known_rig(
    config: RigConfig, simulates: World | None, task: Task, *, simulated: bool, stopped: bool = False
) -> KnownState | None:
    """What is known at the start of an episode; None of a device that the kit has no interlocks for.

    A device file's registers are known as far as a stop sets them, where the rig has confirmed one.
    A physical rig's layout is its `site`, or its twin's world; a simulator's its world with the task's
    overrides. Where the rig stands at the start is known only of a simulator that this host started itself.
    """
    if task.device.rules is not None:
        return task.device.rules.known_state(stopped=stopped)
    kind = world_of_device(task.device.name)
    if kind is None or kind.device != task.device or kind.known_state is None or not _speaks_our_wire(config):
        return None
    site = world_of_rig(config, simulates)
    world = None
    if site is not None:
        world = merged_state(site, task.init) if simulated else site.state
    ours = config.spawn or config.in_process
    if world is not None and not isinstance(world, kind.state):
        return None
    return kind.known_state(world, simulated and ours)


def _speaks_our_wire(config: RigConfig) -> bool:
    # Behind a driver, other people's hardware has rules of its own.
    return config.driver is None or load_driver(config.driver).link == "pathrig"
