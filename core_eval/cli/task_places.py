"""Which task of a run is done on which rig: each on the rig of its device."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from agents.baselines.floors import FLOORS
from agents.names import without_folders
from agents.registry import model_options
from configs.rig_config import device_of
from configs.rigs_loader import load_rig
from configs.suite_manifest import Manifest, MeasuredSuite
from configs.suites import read_suite, task_ref
from configs.task import Task
from configs.tasks_loader import load_task
from core_eval.cli.output import UsageError, print_faults
from core_eval.run.config import Place
from devices.device_type import DeviceType, an
from firmware_bridge.mqtt.address import without_password

EACH_WORLD = "sim"
"""The rig that stands for each task's own world."""


def task_places(
    tasks: Sequence[str], suites: Sequence[str], rigs: Sequence[str]
) -> tuple[list[Place], tuple[MeasuredSuite, ...]]:
    """Return each task with its rig, suites first, and what was measured of these. Tasks of a suite for other
    devices are left out, and told.

    Raises:
        UsageError: a task has no rig or two.
        ConfigError: a task, suite or rig is wrong.
    """
    named = [rig for rig in dict.fromkeys(rigs) if rig != EACH_WORLD]
    chosen = _Rigs(named, own_worlds=EACH_WORLD in rigs or not named)
    found = [_of_suite(name, chosen) for name in suites]
    places = [place for own, _ in found for place in own]
    places += [(one, chosen.of_task(one)) for one in tasks]
    for idle in [rig for rig in named if rig not in {rig for _, rig in places}]:
        print(f"pathrig: --rig {without_password(idle)}: no task is for its device", file=sys.stderr)
    return list(dict.fromkeys(places)), tuple(suite for _, suite in found)


def floors_beside(
    asked: bool | None, agents: Sequence[str], suites: Sequence[str], rigs: Sequence[str]
) -> tuple[str, ...]:
    """Return the baselines that stand beside the agents of a run.

    Raises:
        UsageError: they are asked for on a rig that is no simulator.
    """
    if asked is False or not (asked or suites):
        return ()
    simulated = all(rig == EACH_WORLD or load_rig(rig).world is not None for rig in rigs)
    if asked and not simulated:
        raise UsageError("--floors runs on simulators only: no baseline moves a physical rig")
    models = any(model_options(spec) is not None for spec in agents)
    return tuple(spec for spec in FLOORS if spec not in agents) if asked or (models and simulated) else ()


class _Rigs:
    """The rigs of a run, by their devices' names; None: of a rig that states no device, and is alone."""

    def __init__(self, rigs: Sequence[str], *, own_worlds: bool) -> None:
        self._own_worlds = own_worlds
        self._by_device: dict[str | None, str] = {}
        self._worlds: list[tuple[DeviceType, str | None, str]] = []
        for rig in rigs:
            config = load_rig(rig)
            device = device_of(config)
            name = None if device is None else device.name
            if name is None and (own_worlds or len(rigs) > 1):
                raise UsageError(
                    f"--rig {without_password(rig)}: it states no device, so that no task can be told for it "
                    "beside another --rig: give `device` in its file"
                )
            if name in self._by_device:
                both = " and ".join(map(without_password, (self._by_device[name], rig)))
                raise UsageError(f"--rig {both} are both {an(str(name))}: give one rig for each device")
            self._by_device[name] = rig
            if device is not None:
                self._worlds.append((device, config.world, rig))

    def of(self, task: Task) -> str | None:
        """Return the rig of a task; None if there is none."""
        fitting = (rig for device, world, rig in self._worlds if task.for_device(device, world) is not None)
        rig = self._by_device.get(task.device.name) or next(fitting, self._by_device.get(None))
        if rig is None and self._own_worlds and task.world is not None:
            return f"{EACH_WORLD}:{task.world.name}"
        return rig

    def of_task(self, ref: str) -> str:
        """Return the rig of a task that is given by itself."""
        if len(self._by_device) == 1 and not self._own_worlds:
            # What does not fit is told with both names when the run is loaded.
            return next(iter(self._by_device.values()))
        task = load_task(ref)
        rig = self.of(task)
        if rig is not None:
            return rig
        if not self._by_device:
            raise UsageError(f"--rig {EACH_WORLD}: task {ref} belongs to no world; name its rig")
        raise UsageError(
            f"task {ref} is for {an(task.device.name)}, and none of the rigs {', '.join(self.names)} is one: "
            "give its rig too"
        )

    @property
    def names(self) -> list[str]:
        """The rigs that are named, for messages."""
        return [without_password(rig) for rig in self._by_device.values()]


def _of_suite(suite: str, rigs: _Rigs) -> tuple[list[Place], MeasuredSuite]:
    found = read_suite(suite)
    print_faults(found.malformed)
    places = [(task_ref(task), rig) for task in found.tasks if (rig := rigs.of(task)) is not None]
    left_out = len(found.tasks) - len(places)
    why = "belong to no world"
    if rigs.names:
        why = f"are for other devices than that of {' and '.join(rigs.names)}"
        if not places:
            which = " or ".join(f"rig {name}" for name in rigs.names)
            raise UsageError(f"--suite {suite}: none of its tasks is for the device of {which}")
    if left_out:
        print(f"pathrig: --suite {suite}: {left_out} tasks are left out: they {why}", file=sys.stderr)
    return places, Manifest.of(without_folders(suite), found.tasks).measured
