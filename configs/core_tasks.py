"""Tasks of CORE's own JSON, as they are or with what a task file says of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

from configs.core_aliases import CoreEntry, Translation
from configs.errors import ConfigError
from configs.task import Build, Task, device_in
from configs.task_entry import TaskLimits
from configs.worlds_loader import World, known_world, load_world, make_simulator, merged_state
from configs.yaml_file import YamlFile, nearest
from core_eval.call_status import CallStatus
from core_eval.path.automaton import AutomatonError
from core_eval.path.core_json import CoreFile, CoreTask, Translate, parse_core_json
from core_eval.path.symbols import Symbol
from core_eval.text.foreign_text import ForeignTextError, read_text
from devices.device_type import takes
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


def is_core_text(text: str) -> bool:
    """Return whether a task file's text is CORE's JSON, an array; this project's own YAML is a mapping."""
    return text.lstrip().startswith("[")


def load_core_file(path: Path, text: str | None = None, translate: Translate | None = None) -> CoreFile:
    """Return the tasks of a file, and one line for each fault in those that are malformed.

    Args:
        path: the file; `-` is standard input.
        text: what it holds, where it has been read already.
        translate: what its symbols are here.

    Raises:
        ConfigError: it cannot be read, or is no JSON array.
    """
    try:
        return parse_core_json(read_text(path) if text is None else text, str(path), translate)
    except ForeignTextError as error:
        raise ConfigError(f"cannot be read ({error}); give a CORE JSON file", file=path) from None
    except AutomatonError as error:
        raise ConfigError(str(error)) from None


PAPER = "core:"
"""What the names of the paper's own worlds begin with."""


def core_world(name: str, symbols: Collection[Symbol]) -> str | None:
    """Return the world of a task by the world that it names; None where none is known.

    The paper's own world of that name comes before the kit's, and before any other: the first that has the
    tools and arguments of the symbols, else the first of that name.
    """
    named = [one for one in map(known_world, (PAPER + name, name)) if one is not None]
    others = sorted(WORLD_TYPES, key=lambda one: not one.startswith(PAPER))
    fitting = (one for one in (*named, *others) if takes(WORLD_TYPES[one].device, symbols))
    return next(fitting, named[0] if named else None)


def state_after(world: World, calls: Sequence[Any]) -> dict[str, Any]:
    """Return what differs from a world's initial state after calls, each `TOOL` or `{TOOL: ARGUMENTS}`.

    Raises:
        ConfigError: one of them is no call, or is not executed; at its place.
    """
    simulator = make_simulator(world)
    for place, call in enumerate(calls):
        written = {call: {}} if isinstance(call, str) else call
        if not isinstance(written, Mapping) or len(written) != 1:
            raise ConfigError("must be a tool, or a tool with its arguments", at=(place,))
        ((tool, arguments),) = written.items()
        if not isinstance(arguments, Mapping):
            raise ConfigError("the arguments must be a mapping", at=(place, tool))
        outcome = simulator.execute(tool, arguments, Event())
        if outcome.status != CallStatus.OK:
            raise ConfigError(f"{tool} is {outcome.status}: {outcome.message}", at=(place,))
    before, after = world.state.model_dump(mode="json"), simulator.state_dict()
    return _difference(before, {key: after.get(key, value) for key, value in before.items()})


def _difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the overrides that make the one of the other; null removes a key."""
    changed: dict[str, Any] = dict.fromkeys(before.keys() - after.keys())
    for key, value in after.items():
        was = before.get(key)
        if isinstance(was, Mapping) and isinstance(value, Mapping):
            value = _difference(was, value)
            if not value:
                continue
        if key not in before or value != was:
            changed[key] = value
    return changed
