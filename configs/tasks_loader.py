"""Tasks: from the shipped files by id, from a YAML file of one's own, or from CORE's JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, Literal

from configs.calls_before import state_after
from configs.cautions import Caution
from configs.core_aliases import CoreEntry, Translation
from configs.core_file import is_core_text, load_core_file
from configs.core_world import core_world
from configs.device_types import device_ref, load_declared
from configs.errors import ConfigError, at
from configs.goal import Goal
from configs.idle_writes import IdleWrites
from configs.operator import ASK, ASK_TOOL, Conversation, Operator, with_questions
from configs.task_entry import Difficulty, LeftOut, SuiteEntry, TaskEntry, TaskLimits
from configs.task_places import AcceptsCall, Places, UnknownPlaceError, expand_plan, places
from configs.task_template import Template
from configs.worlds_loader import World, known_world, load_world, make_simulator, merged_state
from configs.yaml_file import YamlFile, load_yaml, nearest, where_named
from core_eval.path import AutomatonError, CoreTask, Symbol, TaskAutomaton, compile_plan, plan_symbols
from core_eval.path.endings import Answer, AskedEnding, DeclineReason
from core_eval.text.foreign_text import STDIN, ForeignTextError, read_text
from devices.accepted import Accepts, within
from devices.device_type import DeviceType, takes
from devices.inferred_device import device_from_alphabet
from sims.overrides import stack_overrides
from sims.world_type import WORLD_TYPES

TASKS_FOLDER = Path(__file__).parent / "tasks"


@dataclass(frozen=True)
class Task:
    """A task, ready to run.

    Attributes:
        device: whose tools it is for; their texts state the facts of the world, overrides included.
        world: None where the task names a device file, or a CORE task's tools belong to no known device.
        init: overrides of the world's initial state, the user's own ones included.
        goal: None where the file names none.
        file: where it was read.
        answer: how it is done where it asks for no call; None where it asks for calls.
        decline: why it is to be declined; None where its file does not say.
        found_by: the reads whose answers tell that reason, as symbols.
        mentions: what its words mention besides, such as a threshold.
        left_out: the harmless ways to the goal that its plan leaves out.
        paraphrases: the prompt in other words.
        difficulty: what it is hard by; None where its file does not say.
        cautions: what must hold before a risky call, or be restored after it.
        names: the world that a record of CORE's JSON names, where its file does not place it: it may take
            place there, and in any world that has its tools and arguments; else None.
        instance_of: the id of the template of which it is an instance; None: of none.
        operator: who answers the agent's questions; None: it can ask nobody.
    """

    id: str
    world: World | None
    device: DeviceType
    prompt: str
    init: Mapping[str, Any]
    automaton: TaskAutomaton
    goal: Goal | None
    file: Path
    limits: TaskLimits
    answer: Answer | None = None
    paraphrases: tuple[str, ...] = ()
    difficulty: Difficulty | None = None
    cautions: tuple[Caution, ...] = ()
    decline: DeclineReason | None = None
    found_by: tuple[Symbol, ...] = ()
    mentions: tuple[float | str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    names: str | None = None
    instance_of: str | None = None
    operator: Operator | None = None

    @property
    def template(self) -> str:
        """The id that it shares with the other instances of its template; of no template its own."""
        return self.instance_of or self.id

    @property
    def offered(self) -> DeviceType:
        """The device type with the tools that an agent gets: those of the rig, and `ask`."""
        return _offered(self.device, self.operator)

    def conversation(self) -> Conversation:
        """Return what is asked and answered in an episode that begins."""
        return Conversation(self.operator)

    def for_device(self, device: DeviceType, world: str | None) -> Task | None:
        """Return the task for a rig's device, in the world that it simulates; None where it is for another.

        Raises:
            ConfigError: the task's overrides do not fit that world.
        """
        if device.name == self.device.name:
            return self
        if self.names is None or world is None:
            return None
        if known_world(world) != known_world(self.names) and not takes(
            device, self.automaton.symbols.values()
        ):
            return None
        there = load_world(world)
        return replace(self, world=there, device=_device_in(there, self.init))

    def in_world(self, world: World) -> Task:
        """Return the same task in the world that a rig simulates.

        Raises:
            ConfigError: the task's overrides do not fit that world.
        """
        device = _device_in(world, self.init) if world.device == self.device else self.device
        return replace(self, world=world, device=device)

    def on_hardware(self, tools: frozenset[str] | None) -> Task:
        """The same task with the tools that the hardware has; None: with all of them."""
        return self if tools is None else replace(self, device=self.device.fitted(tools))

    @property
    def ending(self) -> AskedEnding:
        """How it is to be ended."""
        return AskedEnding(self.answer, self.decline)

    def idle_writes(self, seed: int = 0) -> IdleWrites | None:
        """Return what tells which writes change nothing in its world; None without a world.

        `seed` is the world's.
        """
        world = self.world
        return None if world is None else IdleWrites(lambda: make_simulator(world, seed), self.init, seed)

    def at_site(self, site: World) -> Task:
        """Return the same task, with tool texts that state the facts of a physical rig's site."""
        return replace(self, device=site.device) if site.device == self.device else self


def _device_in(world: World, init: Mapping[str, Any]) -> DeviceType:
    return replace(world, state=merged_state(world, init)).device


def _offered(device: DeviceType, operator: Operator | None) -> DeviceType:
    return device if operator is None else replace(device, tools=(*device.tools, ASK_TOOL))


def task_files(first: str = "") -> Iterator[Path]:
    """Yield the task files that ship with the kit, then those of worlds that bring their own.

    Of those of the kit, the ones that have `first` in their text come first: to search them is faster than
    to read them as YAML.
    """
    files = TASKS_FOLDER.rglob("*.yaml")
    yield from sorted(files, key=lambda file: (first.encode() not in file.read_bytes(), file))
    for world in WORLD_TYPES.values():
        if world.tasks is not None:
            yield from sorted(world.tasks.rglob("*.yaml"))


class MalformedTaskError(ConfigError):
    """A task of a file is wrong; the others may be sound.

    Attributes:
        faults: one line each.
    """

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = tuple(faults)


@dataclass(frozen=True)
class TaskFile:
    """The sound tasks of a file, and what is wrong with the others.

    Attributes:
        malformed: one line for each fault, by the task's id.
    """

    tasks: tuple[Task, ...]
    malformed: Mapping[str, tuple[str, ...]]


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
    for file in files:
        tasks += file.tasks
        malformed |= file.malformed
    return TaskFile(tuple(tasks), malformed)


def read_tasks(file: Path | None = None) -> TaskFile:
    """List the same tasks; a malformed one is reported instead of raised.

    Raises:
        ConfigError: the file is wrong as a whole.
    """
    return _task_file(_all_entries(file))


@dataclass(frozen=True)
class TaskAutomata:
    """The automata of a task file, for scoring alone.

    Attributes:
        automata: by the task's id.
        malformed: what is wrong with the others, one line for each fault.
        endings: how those are to be ended that a file of ours holds, by id.
        idle: what tells which writes change nothing, by id, where a world is known.
    """

    automata: Mapping[str, TaskAutomaton]
    malformed: Mapping[str, tuple[str, ...]]
    endings: Mapping[str, AskedEnding] = field(default_factory=dict)
    idle: Mapping[str, IdleWrites] = field(default_factory=dict)


def load_automata(path: Path) -> TaskAutomata:
    """Return the automata of a task file; of CORE's JSON without regard to worlds and tools.

    Raises:
        ConfigError: the file is wrong as a whole, or no task of it can be used.
    """
    text = _text(path)
    if is_core_text(text):
        content = load_core_file(path, text)
        found = TaskAutomata({task.id: task.automaton for task in content.tasks}, content.malformed)
    else:
        tasks = _task_file(_yaml_entries(path, text))
        found = TaskAutomata(
            {task.id: task.automaton for task in tasks.tasks},
            tasks.malformed,
            {task.id: task.ending for task in tasks.tasks},
            {task.id: idle for task in tasks.tasks if (idle := task.idle_writes()) is not None},
        )
    if not found.automata:
        reasons = [fault for faults in found.malformed.values() for fault in faults]
        raise ConfigError("; ".join(["holds no task that can be used", *reasons]), file=path)
    return found


def _task_file(entries: Iterable[_Entry]) -> TaskFile:
    tasks: list[Task] = []
    malformed: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        try:
            tasks.append(entry.build({}))
        except MalformedTaskError as error:
            malformed[entry.id] = error.faults
        except ConfigError as error:
            malformed[entry.id] = (str(error),)
    return TaskFile(tuple(tasks), malformed)


def _all_entries(file: Path | None) -> Iterator[_Entry]:
    for path in task_files() if file is None else [file]:
        yield from _entries(path)


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
                return build
            entries.append(entry)
    if not wanted and len(entries) == 1:
        return entries[0].build
    fault = f"no task {wanted!r}" if wanted else "it has several tasks, name one as FILE#ID"
    if any(entry.id == wanted.rpartition("@")[0] for entry in entries):
        fault += " (only a template has instances by seed)"
    ids = nearest([entry.id for entry in entries], wanted)
    raise ConfigError(f"{fault}; the tasks are {ids}", file=path if is_file else None)


Build = Callable[[Mapping[str, Any]], Task]
"""Makes a task, given the overrides of its world's initial state; raises ConfigError where it is wrong."""


@dataclass(frozen=True)
class _Entry:
    """A task of a file.

    Attributes:
        id: its own.
        build: makes it.
        instances: of a template, what makes its instances by seed; by the template's id, and by its own.
    """

    id: str
    build: Build
    instances: Mapping[str, Callable[[int], Build]] = field(default_factory=dict)

    def find(self, wanted: str) -> Build | None:
        """Return what makes the task with that id, where it is this one or an instance of it."""
        if wanted == self.id:
            return self.build
        own, _, seed = wanted.rpartition("@")
        return self.instances[own](int(seed)) if own in self.instances and seed.isdecimal() else None


@cache
def _shipped_entries(path: Path) -> tuple[_Entry, ...]:
    """Return the tasks of a file that does not change; a run of a suite looks each of its tasks up."""
    return tuple(_entries(path))


def _entries(path: Path) -> Iterator[_Entry]:
    """Return a file's tasks."""
    text = _text(path)
    return _core_entries(path, text) if is_core_text(text) else _yaml_entries(path, text)


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
        yield from _aliased_entries(file)
        return
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
            yield _Entry(ref, task_builder(ref))


def _written(file: YamlFile, index: int) -> _Entry:
    entry = file.validate(TaskEntry, "tasks", index)
    return _Entry(entry.id, _YamlTask(file, index, entry).build)


def _templated(template: Template) -> Iterator[_Entry]:
    """Yield the tasks without a seed of a template: one for each branch."""
    for place, (task_id, branch) in enumerate(template.branches()):
        instances = {task_id: partial(_instance, branch)}
        if not place:
            instances[template.entry.id] = partial(_instance, template)
        yield _Entry(task_id, _instance(branch, None), instances)


def _instance(template: Template, seed: int | None) -> Build:
    filled = cache(template.instance)

    def build(init: Mapping[str, Any]) -> Task:
        file, entry = filled(seed)
        return replace(_YamlTask(file, template.index, entry).build(init), instance_of=template.entry.id)

    return build


@dataclass(frozen=True)
class _YamlTask:
    """A task as entry `index` of a YAML file's list `tasks`."""

    file: YamlFile
    index: int
    entry: TaskEntry

    def build(self, init: Mapping[str, Any]) -> Task:
        """Return the task, with overrides of its world's initial state."""
        entry = self.entry
        if entry.world is None:
            if init:
                raise ConfigError(f"task {entry.id} names no world, so leave out --init and --vary")
            with self.file.at("tasks", self.index, "device"):
                declared = load_declared(device_ref(str(entry.device), self.file.path))
            near: Any = declared.file.places
            return self._task(None, declared.type, {}, near, within(declared.file.reach), None)
        with self.file.at("tasks", self.index, "world"):
            world = load_world(entry.world)
        with self.file.at("tasks", self.index, "init"):
            merged_state(world, entry.init)
        own = stack_overrides(entry.init, init)
        try:
            state = merged_state(world, own)
        except ConfigError as error:
            raise ConfigError(f"{error} (in what was given with --init)") from None
        near = places(state.model_dump(), world.type.place_keys)
        return self._task(world, replace(world, state=state).device, own, near, world.type.accepts, state)

    def _task(
        self,
        world: World | None,
        device: DeviceType,
        init: Mapping[str, Any],
        near: Places,
        accepts: Accepts,
        state: Any,
    ) -> Task:
        """Return the task; its plan may name the places `near`, and `accepts` gives the tolerances."""
        entry = self.entry
        with self.file.at("tasks", self.index):
            try:
                goal = Goal.from_patterns(entry.goal) if entry.goal else None
            except ValueError as error:
                raise ConfigError(str(error), at=("goal",)) from None
            asked = {} if goal is None else goal.patterns
            offered = self._offered(device)
            automaton = self._automaton(offered, near, lambda tool, given: accepts(state, tool, given, asked))
            found_by = self._symbols("found_by", offered)
            automaton = automaton.with_free(self._symbols("attempts", device))
            for place, caution in enumerate(entry.cautions):
                for tool in caution.tools:
                    _check_tool(device, tool, "cautions", place)
        return Task(
            entry.id,
            world,
            device,
            entry.prompt,
            init,
            automaton,
            goal,
            self.file.path,
            entry.limits,
            entry.answer,
            tuple(entry.paraphrases),
            entry.difficulty,
            tuple(entry.cautions),
            entry.reason,
            found_by,
            tuple(entry.mentions),
            tuple(entry.left_out),
            operator=entry.operator,
        )

    def _offered(self, device: DeviceType) -> DeviceType:
        """Return the device type with what the task adds, which its operator fits."""
        operator = self.entry.operator
        if operator is not None:
            if ASK in device.by_name:
                raise ConfigError(f"{device.name} has a tool {ASK!r} itself: remove it", at=("operator",))
            for symbol in operator.symbols:
                _check_tool(device, symbol.tool, "operator", *where_named(operator.model_dump(), symbol.tool))
        return _offered(device, operator)

    def _automaton(self, device: DeviceType, near: Places, accepts: AcceptsCall) -> TaskAutomaton:
        entry = self.entry
        reads = device.reads if entry.free_reads is None else entry.free_reads
        try:
            plan = expand_plan(self._asking("plan"), near, accepts)
            file = str(self.file.path)
            automaton = compile_plan(plan, free_reads=reads, file=file, task=entry.id)
        except UnknownPlaceError as error:
            where = where_named(entry.plan, error.name)
            names = nearest(near, error.name)
            raise ConfigError(f"{error}; there are {names}", at=("plan", *where)) from None
        except AutomatonError as error:
            raise ConfigError("; ".join(error.faults), at=("plan",)) from None
        for symbol in automaton.symbols.values():
            where = where_named(entry.plan, symbol.tool)
            _check_tool(device, symbol.tool, "plan", *where)
            if entry.answer is not None and symbol.tool not in device.reads:
                raise ConfigError(
                    f"{symbol.tool} is no read, and the task is to be declined", at=("plan", *where)
                )
        return automaton

    def _asking(self, key: str) -> Any:
        """Return the steps under a key, with a question for each that asks the operator."""
        steps, operator = getattr(self.entry, key), self.entry.operator
        if operator is None:
            return steps
        with at(key):
            return with_questions(steps, operator)

    def _symbols(self, key: Literal["found_by", "attempts"], device: DeviceType) -> tuple[Symbol, ...]:
        """Return the calls that are written under a key as steps of a plan."""
        try:
            symbols = plan_symbols(self._asking(key), key)
        except AutomatonError as error:
            raise ConfigError("; ".join(error.faults), at=(key,)) from None
        for place, symbol in enumerate(symbols):
            _check_tool(device, symbol.tool, key, place)
        return symbols


def template_keys(task: Task) -> Mapping[str, Any] | None:
    """Return the template of which a task is an instance, as its file has it; None of another task."""
    if task.instance_of is None:
        return None
    entries = _parsed(task.file, _text(task.file)).data["tasks"]
    found: Mapping[str, Any] = next(entry for entry in entries if entry["id"] == task.instance_of)
    return found


def _check_tool(device: DeviceType, tool: str, *at: str | int) -> None:
    if tool not in device.by_name:
        raise ConfigError(
            f"{device.name} has no tool {tool!r}; there are {nearest(device.by_name, tool)}", at=at
        )


def _core_entries(path: Path, text: str) -> Iterator[_Entry]:
    content = load_core_file(path, text)
    for task in content.tasks:
        yield _Entry(task.id, partial(_from_core, path, task, None, lambda world: {}))
    for task_id, faults in content.malformed.items():
        yield _Entry(task_id, partial(_malformed, faults))


def _aliased_entries(file: YamlFile) -> Iterator[_Entry]:
    """Return the tasks of CORE's JSON that a task file names, with its aliases, world and initial states."""
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
        yield _Entry(task.id, partial(_from_core, file.path, task, entry.world, own))
    for task_id, faults in content.malformed.items():
        yield _Entry(task_id, partial(_malformed, faults))


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
    device = device_from_alphabet(task.world, task.automaton) if world is None else _device_in(world, init)
    return Task(
        *(task.id, world, device, task.prompt, dict(init), task.automaton, None, path, TaskLimits()),
        names=task.world if placed is None else None,
    )
