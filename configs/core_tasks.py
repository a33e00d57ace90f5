"""Tasks of CORE's own JSON, as they are or with what a task file says of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from configs.calls_before import state_after
from configs.core_aliases import CoreEntry, Translation
from configs.core_file import load_core_file
from configs.core_world import core_world
from configs.errors import ConfigError
from configs.task import Build, Task, device_in
from configs.task_entry import TaskLimits
from configs.worlds_loader import World, known_world, load_world, merged_state
from configs.yaml_file import YamlFile, nearest
from core_eval.path import CoreTask
from devices.inferred_device import device_from_alphabet
from sims.overrides import stack_overrides
from sims.world_type import WORLD_TYPES


class MalformedTaskError(ConfigError):
    """A task of a file is wrong; the others may be sound.

    Attributes:
        faults: one line each.
    """

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = tuple(faults)


def core_builds(path: Path, text: str) -> Iterator[tuple[str, Build]]:
    """Yield the tasks of a file of CORE's JSON: the id of each, and what builds it."""
    content = load_core_file(path, text)
    for task in content.tasks:
        yield (task.id, partial(_from_core, path, task, None, lambda world: {}))
    for task_id, faults in content.malformed.items():
        yield (task_id, partial(_malformed, faults))


def aliased_builds(file: YamlFile) -> Iterator[tuple[str, Build]]:
    """Yield the tasks of CORE's JSON that a task file names, with its aliases, world and initial states."""
    entry = file.validate(CoreEntry)
    path = file.path.parent / entry.core
    if entry.world is not None and known_world(entry.world) is None:
        raise file.error(
            f"no world {entry.world!r}; the worlds are {nearest(list(WORLD_TYPES), entry.world)}", "world"
        )
    translation = Translation(entry, file)
    with file.at("core"):
        content = load_core_file(path, translate=translation if entry.aliases else None)
    translation.check(None if entry.world is None else load_world(entry.world).device)
    ids = [task.id for task in content.tasks]
    for task_id in entry.init:
        if task_id not in ids:
            raise file.error(
                f"{path} has no task {task_id!r}; there are {nearest(ids, task_id)}", "init", task_id
            )
    for task in content.tasks:
        own = partial(_own_init, file, task.id, entry.init.get(task.id, {}))
        yield (task.id, partial(_from_core, file.path, task, entry.world, own))
    for task_id, faults in content.malformed.items():
        yield (task_id, partial(_malformed, faults))


def _malformed(faults: Sequence[str], _: Mapping[str, Any]) -> Task:
    raise MalformedTaskError(faults)


def _own_init(file: YamlFile, task: str, written: Any, world: World) -> Mapping[str, Any]:
    with file.at("init", task):
        init = written if isinstance(written, Mapping) else state_after(world, written)
        merged_state(world, init)
        return init


def _from_core(
    path: Path,
    task: CoreTask,
    placed: str | None,
    own: Callable[[World], Mapping[str, Any]],
    given: Mapping[str, Any],
) -> Task:
    """Build a task of CORE's JSON.

    Args:
        path: its file.
        task: the task.
        placed: its world; None: the one that fits.
        own: gives what its file says of a world's initial state.
        given: the user's.
    """
    name = placed or core_world(task.world, task.automaton.symbols.values())
    world = None if name is None else load_world(name)
    init = stack_overrides({} if world is None else own(world), given)
    device = device_from_alphabet(task.world, task.automaton) if world is None else device_in(world, init)
    return Task(
        *(task.id, world, device, task.prompt, dict(init), task.automaton, None, path, TaskLimits()),
        names=task.world if placed is None else None,
    )
