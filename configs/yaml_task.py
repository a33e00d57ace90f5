"""A task as a YAML file holds it: its plan, goal and cautions, checked against its device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from configs.device_types import device_ref, load_declared
from configs.errors import ConfigError, at
from configs.goal import Goal
from configs.operator import ASK, with_questions
from configs.task import Task, with_operator
from configs.task_entry import TaskEntry
from configs.task_places import AcceptsCall, Places, UnknownPlaceError, expand_plan, places
from configs.worlds_loader import World, load_world, merged_state
from configs.yaml_file import YamlFile, nearest, where_named
from core_eval.path.automaton import AutomatonError, TaskAutomaton
from core_eval.path.plan import compile_plan, plan_symbols
from core_eval.path.symbols import Symbol
from devices.accepted import Accepts, within
from devices.device_type import DeviceType
from sims.overrides import stack_overrides


@dataclass(frozen=True)
class YamlTask:
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
                _check_tool(device, symbol.tool, "operator", within=operator.model_dump())
        return with_operator(device, operator)

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
            _check_tool(device, symbol.tool, "plan", within=entry.plan)
            if entry.answer is not None and symbol.tool not in device.reads:
                raise ConfigError(
                    f"{symbol.tool} is no read, which `answer: {entry.answer}` does not allow",
                    at=("plan", *where_named(entry.plan, symbol.tool)),
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


def _check_tool(device: DeviceType, tool: str, *at: str | int, within: Any = None) -> None:
    """Refuse a tool that the device lacks; named at a place, or somewhere `within` what stands there."""
    if tool not in device.by_name:
        raise ConfigError(
            f"{device.name} has no tool {tool!r}; there are {nearest(device.by_name, tool)}",
            at=(*at, *where_named(within, tool)),
        )
