"""Every field of a world's initial state, other values of it, and what an episode shows of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from threading import Event
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from agents.agent import Agent, EpisodeContext, ToolCallAction
from agents.baselines.mutated import MutatedAgent
from agents.baselines.oracle import OracleAgent
from agents.baselines.random import RandomAgent
from configs.hazards import drawn_start
from configs.tasks_loader import Task, list_tasks, read_tasks
from configs.variation import put
from configs.worlds_loader import World
from core_eval.verify.candidates import leaves
from devices.faults import Fault, FaultRate
from devices.models import DERIVED
from devices.sensors import SensorSpec
from sims.overrides import stack_overrides
from sims.simulator import Simulator
from sims.software.world import SoftwareState

OTHER_SENSORS = (
    {"kind": "quantised", "resolution": 0.07, "period": 0.9},
    {"kind": "threshold", "threshold": 0.01, "period": 0.3},
)
OF_ALL_WORLDS = SensorSpec, Fault, FaultRate
"""Parts of the same class, and with the same effect, in every world."""
Path_ = tuple[str, ...]
Calls = Sequence[tuple[str, Mapping[str, Any]]]
Danger = Callable[[Random], tuple[Mapping[str, Any], Calls]]


@dataclass(frozen=True)
class Place:
    """One value of a state: its path, `*` for an entry in its general one, and the override of a value."""

    path: Path_
    general: str
    value: Any
    annotation: Any
    inside: tuple[Path_, Any] | None = None
    """The list that it is in: an override replaces all of it."""

    def override(self, value: Any) -> dict[str, Any]:
        """The override that sets it."""
        overrides: dict[str, Any] = {}
        if self.inside is None:
            put(overrides, self.path, value)
        else:
            path, whole = self.inside
            put(overrides, path, _replaced(copy.deepcopy(whole), self.path[len(path) :], value))
        return overrides


def _replaced(whole: Any, path: Path_, value: Any) -> Any:
    at = whole
    for part in path[:-1]:
        at = at[int(part)] if isinstance(at, list) else at[part]
    last: Any = int(path[-1]) if isinstance(at, list) else path[-1]
    at[last] = value
    return whole


def places(part: BaseModel, path: Path_ = (), general: Path_ = (), inside: Any = None) -> Iterator[Place]:
    """Yield the fields of a part of a state; the entries of mappings and lists are fields, too."""
    for name, field in type(part).model_fields.items():
        if name != DERIVED:
            where = (*path, name), (*general, name)
            yield from _places(getattr(part, name), *where, _declared(field), inside)


def _declared(field: FieldInfo) -> Any:
    return Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


def _places(value: Any, path: Path_, general: Path_, annotation: Any, inside: Any) -> Iterator[Place]:
    if isinstance(value, SensorSpec):
        yield Place(path, ".".join(path), value.model_dump(mode="json"), SensorSpec, inside)
    if isinstance(value, OF_ALL_WORLDS):
        yield from places(value, path, (type(value).__name__,), inside)
    elif isinstance(value, BaseModel):
        yield from places(value, path, general, inside)
    elif isinstance(value, Mapping) and value:
        inner = (get_args(_plain(annotation)) or (Any, Any))[1]
        for name, entry in value.items():
            yield from _places(entry, (*path, name), (*general, "*"), inner, inside)
    elif isinstance(value, list | tuple) and value and isinstance(value[0], BaseModel):
        whole = [one.model_dump(mode="json") for one in value]
        for k, entry in enumerate(value):
            yield from _places(entry, (*path, str(k)), (*general, "*"), Any, inside or (path, whole))
    else:
        yield Place(path, ".".join(general), value, annotation, inside)


def _plain(annotation: Any) -> Any:
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        (annotation, *_) = (one for one in get_args(annotation) if one is not NoneType)
        return _plain(annotation)
    return annotation


def others(place: Place, known: Mapping[str, Sequence[Any]]) -> Iterator[Any]:
    """Yield other values of a field, also such as do not fit: first those that its world's files use."""
    value, plain = place.value, _plain(place.annotation)
    for one in known.get(place.general, ()):
        if one != value:
            yield one
    if plain is SensorSpec:
        yield from ({**value, **other} for other in OTHER_SENSORS)
    elif get_origin(plain) is Literal:
        yield from (one for one in get_args(plain) if one != value)
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float) or (value is None and plain in (int, float)):
        yield from _numbers(0.5 if value is None else value, whole=isinstance(value, int) or plain is int)
    elif isinstance(value, str) or plain is str:
        yield from (one for one in known["texts"] if one != value)
        yield from ("another", f"{value}x")
    elif isinstance(value, list | tuple):
        if not value:
            yield from ([text] for text in known["texts"])
        elif not isinstance(value[0], list | tuple | Mapping):
            yield from (
                [*value[:k], other, *value[k + 1 :]] for k in range(len(value)) for other in _like(value[k])
            )
            yield [*value[1:]]
        yield []


def _like(value: Any) -> Iterator[Any]:
    if isinstance(value, str):
        yield f"{value}x"
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _numbers(value, whole=isinstance(value, int))


def _numbers(value: float, *, whole: bool) -> Iterator[float]:
    if whole:
        yield from (value + by for by in (1, -1, 2, 5, -2, 100))
    else:
        yield from (value * by for by in (0.9, 1.1, 0.5, 1.5, 0.1, 4.0, 20.0) if value)
        yield from (round(value + by, 6) for by in (0.05, -0.05, 1.0, -1.0, 60.0))


def known_values(world: World, starts: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the values that these overrides give fields, by the general path, and all texts."""
    found: dict[str, list[Any]] = {"texts": []}

    def note(part: Any, general: Path_, state: Any) -> None:
        if general:
            found.setdefault(".".join(general), []).append(part)
        if isinstance(part, str):
            found["texts"].append(part)
        if isinstance(part, Mapping):
            for name, entry in part.items():
                model = isinstance(state, BaseModel)
                inner = (
                    getattr(state, name, None)
                    if model
                    else state.get(name)
                    if isinstance(state, Mapping)
                    else None
                )
                note(entry, (*general, name if model or not isinstance(state, Mapping) else "*"), inner)

    for start in starts:
        note(start, (), world.state)
    return found


def tasks_of(world: World) -> list[Task]:
    """The shipped tasks that take place in a world."""
    files = [] if world.type.tasks is None else sorted(world.type.tasks.rglob("*.yaml"))
    shipped = read_tasks(world=world.type.name).tasks
    tasks = {task.id: task for task in (*shipped, *(one for file in files for one in list_tasks(file)))}
    return [task for task in tasks.values() if task.world is not None and task.world.name == world.name]


def starts_of(world: World) -> list[Mapping[str, Any]]:
    """The starts of hazards and tasks."""
    return [*hazard_starts(world), *(task.init for task in tasks_of(world))]


def hazard_starts(world: World) -> list[dict[str, Any]]:
    """Each start of the world's hazards, drawn once."""
    state = world.state.model_dump()
    return [
        drawn_start(start, state, Random(7)) for hazard in world.hazards.values() for start in hazard.one_of
    ]


def episodes(world: World, dangers: Sequence[Danger]) -> Iterator[tuple[Mapping[str, Any], Calls]]:
    """Yield starts and calls: dangers, calls at random, and golden and mistaken ones with each hazard."""
    tasks, starts = tasks_of(world), [{}, *hazard_starts(world)]
    yield from (danger(Random(seed)) for seed in (1, 2, 3) for danger in dangers)
    if isinstance(world.state, SoftwareState):
        yield from (({}, _at_random(world, seed)) for seed in range(8))
    for rate in (0.0, 0.5):
        for k, task in enumerate(tasks):
            yield stack_overrides(starts[(k + (rate > 0.0)) % len(starts)], task.init), _calls(task, rate, k)


def _at_random(world: World, seed: int) -> Calls:
    names = " ".join(map(str, leaves(world.state.model_dump(mode="json"))))
    agent = RandomAgent()
    agent.start(EpisodeContext(names, world.device.tools, seed=seed))
    return [call for _ in range(4) for call in _made(agent)]


def _calls(task: Task, rate: float, seed: int) -> Calls:
    agent = OracleAgent() if rate == 0.0 else MutatedAgent(rate)
    context = EpisodeContext(
        task.prompt, task.offered.tools, automaton=task.automaton, answer=task.answer, seed=seed, run_seed=0
    )
    agent.start(context)
    made = _made(agent)
    reads = [
        (tool.name, {})
        for tool in task.device.tools
        if tool.effect.value == "read" and not tool.arguments.model_fields
    ]
    return [*reads, *made, *reads]


def _made(agent: Agent) -> Calls:
    made = []
    while isinstance(action := agent.act(None), ToolCallAction):
        made.append((action.name, action.arguments))
    return made


def shown(simulator: Simulator[Any], init: Mapping[str, Any], calls: Calls) -> Any:
    """Return what an episode shows of a start: texts of tools, answers, samples, changed truth, harm.

    None: the world cannot have the start. What of the truth merely stands in the state is left out.
    """
    samples: list[Any] = []
    simulator._subscribers = [samples.append]
    if simulator.init(init, 3).status != "ok":
        return None
    first = dict(_flat(simulator.state_dict()))
    texts = [tool.description for tool in simulator.device_type.in_world(simulator.world.model_dump()).tools]
    answers, truth = [], []
    for name, arguments in calls:
        outcome = simulator.execute(name, arguments, Event())
        answers.append((outcome.status, outcome.code, outcome.message, outcome.value, outcome.t))
        truth.append(
            {key: value for key, value in _flat(simulator.state_dict()) if first.get(key, ...) != value}
        )
    simulator.finish()
    coarse = simulator.coarse_state()
    simulator.run_out()
    return texts, answers, truth, samples, coarse, simulator.events


def _flat(part: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(part, Mapping):
        for name, entry in part.items():
            yield from _flat(entry, f"{path}.{name}")
    else:
        yield path, part
