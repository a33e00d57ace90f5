"""Tasks by reference: of the shipped files by id, of a file of one's own, or of CORE's JSON."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from configs.core_tasks import MalformedTaskError, aliased_builds, core_builds, is_core_text, load_core_file
from configs.errors import ConfigError
from configs.gold_file import gold_tasks, is_gold_file
from configs.task import Build, Task
from configs.task_entry import SuiteEntry, TaskEntry
from configs.task_template import Template
from configs.worlds_loader import known_world
from configs.yaml_file import YamlFile, load_yaml, nearest
from configs.yaml_task import YamlTask
from core_eval.path.automaton import AutomatonError, TaskAutomaton
from core_eval.path.scorer import ScoredTask
from core_eval.text.foreign_json import ForeignJsonError, parse_json
from core_eval.text.foreign_text import STDIN, ForeignTextError, read_text
from sims.world_type import WORLD_TYPES

Instances: TypeAlias = Callable[[int], Build]
"""Returns what makes the instance of a template that a seed draws."""
KEPT_INSTANCES = 64
TASKS_FOLDER = Path(__file__).parent / "tasks"


def task_files(first: str = "") -> Iterator[Path]:
    """Yield the task files that ship with the kit, then those of worlds that bring their own.

    Of those of the kit, the ones that have `first` in their text come first: to search them is faster than
    to read them as YAML.
    """
    yield from sorted(_kit_files(), key=lambda file: first.encode() not in _kit_files()[file])
    for world in WORLD_TYPES.values():
        if world.tasks is not None:
            yield from sorted(world.tasks.rglob("*.yaml"))


@cache
def _kit_files() -> Mapping[Path, bytes]:
    """Return the task files that ship with the kit, in order; a run of a suite searches each task in them."""
    return {file: file.read_bytes() for file in sorted(TASKS_FOLDER.rglob("*.yaml"))}


@dataclass(frozen=True)
class TaskFile:
    """The sound tasks of a file, and what is wrong with the others.

    Attributes:
        malformed: one line for each fault, by the task's id.
        instances: what makes instances of its templates by seed, by the template's id.
    """

    tasks: tuple[Task, ...]
    malformed: Mapping[str, tuple[str, ...]]
    instances: Mapping[str, Instances] = field(default_factory=dict)


def list_tasks(file: Path | None = None) -> list[Task]:
    """Return every task of a file, or all that ship with the kit.

    Raises:
        ConfigError: the file or one of its tasks is wrong.
    """
    return [entry.build({}) for entry in _all_entries(file)]


def merged_files(files: Iterable[TaskFile]) -> TaskFile:
    """Return the tasks of several files as those of one."""
    tasks: list[Task] = []
    malformed: dict[str, tuple[str, ...]] = {}
    instances: dict[str, Instances] = {}
    for file in files:
        tasks += file.tasks
        malformed |= file.malformed
        instances |= file.instances
    return TaskFile(tuple(tasks), malformed, instances)


def read_tasks(
    file: Path | None = None, *, without: Container[str] = (), world: str | None = None
) -> TaskFile:
    """List the same tasks; a malformed one is reported instead of raised.

    Args:
        file: as for `list_tasks`.
        without: ids of tasks that are left out, and not built.
        world: a registered world; tasks that name another one by its own name are not built.

    Raises:
        ConfigError: the file is wrong as a whole.
    """
    return _task_file(
        entry
        for entry in _all_entries(file, world)
        if entry.id not in without and (world is None or entry.world in (None, world))
    )


@dataclass(frozen=True)
class ScoredTasks:
    """The tasks of a file, for scoring alone.

    Attributes:
        tasks: by id.
        malformed: what is wrong with the others, one line for each fault.
        instances: as those of a `TaskFile`.
    """

    tasks: Mapping[str, ScoredTask]
    malformed: Mapping[str, tuple[str, ...]]
    instances: Mapping[str, Instances] = field(default_factory=dict)

    @classmethod
    def of(cls, found: TaskFile) -> ScoredTasks:
        """Return the sound tasks of a file for scoring."""
        return cls({task.id: task.scored() for task in found.tasks}, found.malformed, found.instances)

    def find(self, name: str) -> ScoredTask:
        """Return the task with that id, or the instance of a template of the file.

        Raises:
            LookupError: there is none, or it is malformed.
        """
        if name in self.malformed:
            raise LookupError(f"malformed in the task file: {'; '.join(self.malformed[name])}")
        return self.tasks[name] if name in self.tasks else self._instance(name)

    @cached_property
    def _instance(self) -> Callable[[str], ScoredTask]:
        return lru_cache(maxsize=1024)(self._drawn)

    def _drawn(self, name: str) -> ScoredTask:
        build = _drawn(self.instances, name)
        if build is None:
            raise LookupError("not in the task file")
        try:
            return build({}).scored()
        except ConfigError as error:
            raise LookupError(f"malformed in the task file: {error}") from None


def load_scored(path: Path) -> ScoredTasks:
    """Return the tasks of a file for scoring; of CORE's JSON without regard to worlds and tools.

    Raises:
        ConfigError: the file is wrong as a whole, or no task of it can be used.
    """
    text = _text(path)
    if text.lstrip().startswith('{"automata"'):
        given = _given_automata(path, text)
        found = ScoredTasks({task: ScoredTask(automaton) for task, automaton in given.items()}, {})
    elif is_core_text(text):
        core = load_core_file(path, text)
        found = ScoredTasks({task.id: ScoredTask(task.automaton) for task in core.tasks}, core.malformed)
    elif is_gold_file(file := _parsed(path, text)):
        tasks = dict(gold_tasks(file))
        found = ScoredTasks(
            {name: task for name, task in tasks.items() if isinstance(task, ScoredTask)},
            {name: (str(task),) for name, task in tasks.items() if isinstance(task, ConfigError)},
        )
    else:
        found = ScoredTasks.of(_task_file(_yaml_entries(path, text)))
    if not found.tasks:
        reasons = [fault for faults in found.malformed.values() for fault in faults]
        raise ConfigError("; ".join(["holds no task that can be used", *reasons]), file=path)
    return found


def _given_automata(path: Path, text: str) -> dict[str, TaskAutomaton]:
    """Return the automata of a file that `tasks learn` wrote."""
    try:
        written = parse_json(text)["automata"]
        return {str(task): TaskAutomaton.from_json(one) for task, one in written.items()}
    except (ForeignJsonError, AutomatonError, AttributeError) as error:
        raise ConfigError(f"holds no automata as `tasks learn` writes them: {error}", file=path) from None


def _task_file(entries: Iterable[_Entry]) -> TaskFile:
    tasks: list[Task] = []
    malformed: dict[str, tuple[str, ...]] = {}
    instances: dict[str, Instances] = {}
    for entry in entries:
        instances |= entry.instances
        try:
            tasks.append(entry.build({}))
        except MalformedTaskError as error:
            malformed[entry.id] = error.faults
        except ConfigError as error:
            malformed[entry.id] = (str(error),)
    return TaskFile(tuple(tasks), malformed, instances)


def _all_entries(file: Path | None, world: str | None = None) -> Iterator[_Entry]:
    names = [] if world is None else [name.encode() for name in (world, *WORLD_TYPES[world].aliases)]
    for path in task_files() if file is None else [file]:
        # To search a file for the world's names is faster than to read it as YAML.
        if names and not any(name in _kit_files().get(path, name) for name in names):
            continue
        yield from _shipped_entries(path) if path in _kit_files() else _entries(path)


def load_task(ref: str, *, init: Mapping[str, Any] | None = None) -> Task:
    """Return the task that a reference means: a shipped id, `FILE` with one task, or `FILE#ID`.

    `ID@SEED` is the instance of a template that the seed draws.

    Args:
        ref: the reference; the file `-` is standard input.
        init: overrides of the world's initial state, laid over the task's own.

    Raises:
        ConfigError: no such task, or it is wrong.
    """
    return task_builder(ref)(init or {})


def task_builder(ref: str) -> Build:
    """Return a function that builds the task of a reference, given overrides; its file is read once.

    Raises:
        ConfigError: no such task, or its entry is wrong; making it raises the same.
    """
    return _referred(ref).build


def _referred(ref: str) -> _Entry:
    """Return the entry that a reference means, or one for the instance that it means."""
    name, _, wanted = ref.partition("#")
    path = Path(name)
    is_file = path == STDIN or path.is_file()
    if not is_file:
        if wanted or path.suffix in (".yaml", ".yml", ".json"):
            raise ConfigError("no such task file", file=path)
        wanted = ref
    entries: list[_Entry] = []
    for file in [path] if is_file else task_files(wanted.partition("@")[0]):
        for entry in _entries(file) if is_file else _shipped_entries(file):
            if (build := entry.find(wanted)) is not None:
                return replace(entry, id=wanted, build=build)
            entries.append(entry)
    if not wanted and len(entries) == 1:
        return entries[0]
    fault = f"no task {wanted!r}" if wanted else "it has several tasks, name one as FILE#ID"
    if any(entry.id == wanted.rpartition("@")[0] for entry in entries):
        fault += " (only a template has instances by seed)"
    ids = nearest([entry.id for entry in entries], wanted)
    raise ConfigError(f"{fault}; the tasks are {ids}", file=path if is_file else None)


@dataclass(frozen=True)
class _Entry:
    """A task of a file.

    Attributes:
        id: its own.
        build: makes it.
        instances: of a template, what makes its instances by seed; by the template's id, and by its own.
        world: the registered world that it names; None where that is known only once it is built.
    """

    id: str
    build: Build
    instances: Mapping[str, Instances] = field(default_factory=dict)
    world: str | None = None

    def find(self, wanted: str) -> Build | None:
        """Return what makes the task with that id, where it is this one or an instance of it."""
        return self.build if wanted == self.id else _drawn(self.instances, wanted)


def _drawn(instances: Mapping[str, Instances], wanted: str) -> Build | None:
    """Return what makes the instance `ID@SEED`; None where that is none of these templates'."""
    template, _, seed = wanted.rpartition("@")
    return instances[template](int(seed)) if template in instances and seed.isdecimal() else None


@cache
def _shipped_entries(path: Path) -> tuple[_Entry, ...]:
    """Return the tasks of a file that does not change; a run of a suite looks each of its tasks up.

    What is built of them without overrides is kept.
    """
    return tuple(replace(entry, build=_kept(entry.build)) for entry in _entries(path))


def _kept(build: Build) -> Build:
    """Return what builds the same, and without overrides once."""
    plain = cache(partial(build, MappingProxyType({})))
    return lambda init: build(init) if init else plain()


def _entries(path: Path) -> Iterator[_Entry]:
    """Return a file's tasks."""
    text = _text(path)
    if not is_core_text(text):
        return _yaml_entries(path, text)
    return (_Entry(*one) for one in core_builds(path, text))


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except ForeignTextError as error:
        raise ConfigError(f"cannot be read: {error}", file=path) from None


_parsed = lru_cache(maxsize=64)(load_yaml)
"""Task files as YAML: a run of a suite looks each of its tasks up in them."""


def _yaml_entries(path: Path, text: str) -> Iterator[_Entry]:
    file = _parsed(path, text)
    if "core" in file.data:
        yield from (_Entry(*one) for one in aliased_builds(file))
        return
    if is_gold_file(file):
        raise file.error("its tasks have no world, and are for `pathrig score --tasks` alone")
    if "suite" in file.data:
        yield from _listed_entries(file)
        return
    for key in sorted(file.data.keys() - {"tasks"}, key=str):
        raise file.error(
            "unknown key, remove or correct it (a task file holds `tasks`, `core` or `suite`)", str(key)
        )
    entries = file.data.get("tasks")
    if not isinstance(entries, list) or not entries:
        raise file.error("must be a list of at least one task", "tasks")
    seen: set[str] = set()
    for index in range(len(entries)):
        template = Template.at(file, index)
        found = [_written(file, index)] if template is None else list(_templated(template))
        for entry in found:
            if entry.id in seen:
                raise file.error(f"the id {entry.id!r} stands twice", "tasks", index, "id")
            seen.add(entry.id)
        yield from found


def _listed_entries(file: YamlFile) -> Iterator[_Entry]:
    """Yield the tasks that a file lists under `suite` by their references."""
    entry = file.validate(SuiteEntry)
    for index, ref in enumerate(entry.suite):
        with file.at("suite", index):
            yield replace(_referred(ref), id=ref)


def _written(file: YamlFile, index: int) -> _Entry:
    entry = file.validate(TaskEntry, "tasks", index)
    world = None if entry.world is None else known_world(entry.world)
    return _Entry(entry.id, YamlTask(file, index, entry).build, world=world)


def _templated(template: Template) -> Iterator[_Entry]:
    """Yield the tasks without a seed of a template: one for each branch."""
    named = (template.entry.model_extra or {}).get("world")
    world = known_world(named) if isinstance(named, str) else None
    if any("world" in (branch.model_extra or {}) for branch in template.entry.branches.values()):
        world = None
    for place, (task_id, branch) in enumerate(template.branches()):
        instances = {task_id: _drawing(branch)}
        if not place:
            instances[template.entry.id] = _drawing(template)
        yield _Entry(task_id, _instance(branch, None), instances, world)


def _drawing(template: Template) -> Instances:
    """Return what makes the instance that a seed draws; the latest are kept."""
    return lru_cache(maxsize=KEPT_INSTANCES)(lambda seed: _kept(_instance(template, seed)))


def _instance(template: Template, seed: int | None) -> Build:
    filled = cache(template.instance)

    def build(init: Mapping[str, Any]) -> Task:
        file, entry = filled(seed)
        return replace(YamlTask(file, template.index, entry).build(init), instance_of=template.entry.id)

    return build


def template_keys(task: Task) -> Mapping[str, Any] | None:
    """Return the template of which a task is an instance, as its file has it; None of another task."""
    if task.instance_of is None:
        return None
    entries = _parsed(task.file, _text(task.file)).data["tasks"]
    found: Mapping[str, Any] = next(entry for entry in entries if entry["id"] == task.instance_of)
    return found
