"""Searches a world with physics for harmless ways to the goal: other orders, poses and doses, over a grid."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, islice, product
from threading import Event
from typing import Any, TypeAlias

from configs.task import Task
from core_eval.call_status import CallStatus
from core_eval.harm.replay import until_told
from core_eval.path.calls import Call
from core_eval.path.scorer import accepts
from core_eval.text.streams import STREAMS, stream
from core_eval.verify.other_numbers import choices, states_a_number
from core_eval.verify.search import excused, is_accepted, written
from core_eval.verify.trials import Trials, example_calls
from devices.tool import Effect
from sims.simulator import Simulator, Snapshot
from sims.software.world import SoftwareWorld

CALLS_A_WAY = 3
"""So many calls are tried for orders, for each way that is tried."""


@dataclass
class Ways:
    """What was tried, and found.

    Attributes:
        narrow: harmless ways to the goal that the automaton does not accept.
        wide: ways that it accepts and that miss the goal or do harm, each with the reason.
        tried: how many ways were run or refused on the way.
        all: how many the grid has.
        orders_done: whether every order was tried.
        meant: the tools of each order that the automaton accepts, a dose in several parts as one.
    """

    narrow: list[tuple[Call, ...]] = field(default_factory=list)
    wide: list[tuple[tuple[Call, ...], str]] = field(default_factory=list)
    tried: int = 0
    all: int = 0
    calls: int = 0
    orders_done: bool = True
    meant: list[list[str]] = field(default_factory=list)

    @property
    def line(self) -> str:
        """What it proves, in a line."""
        if self.orders_done:
            return "proved" if self.tried >= self.all else f"sampled: {self.tried} of {self.all:,} ways"
        return f"sampled: {self.tried} of {self.all:,} ways, orders bounded at {self.calls} calls"


def check_ways(
    task: Task, paths: Sequence[Sequence[str]], simulator: Simulator[Any], seed: int
) -> tuple[list[str], list[str]]:
    """Return a fault for each harmless way that is not accepted, and for each accepted one that fails.

    Ways that the task's file leaves out for a reason are none. One of the plan's own calls with other numbers
    is a remark where the plan states a tolerance of its own for all of its numbers.
    """
    if task.answer is not None or task.goal is None or not paths or isinstance(simulator, SoftwareWorld):
        return [], []
    if task.world is None or not task.world.type.ways:
        return [], []
    found = search_ways(task, paths, simulator, seed)
    narrow = [way for way in found.narrow if not excused(task, way)]
    plan = [task.automaton.symbols[name] for name in paths[0]]
    exact = any(map(states_a_number, plan))
    numbers = [way for way in narrow if not exact and _tools(call.name for call in way) in found.meant]
    faults = [
        f"too narrow: {' '.join(map(written, way))} reaches the goal, and does no harm: allow it, or say why "
        "in `left_out`"
        for way in narrow
        if way not in numbers
    ]
    remarks = [f"other numbers reach the goal: {' '.join(map(written, way))}" for way in numbers[:1]]
    faults += [f"too wide: accepts {' '.join(map(written, way))}, but {why}" for way, why in found.wide]
    return faults, remarks if faults or numbers else [f"every harmless way is accepted: {found.line}"]


def _tools(tools: Iterable[str]) -> list[str]:
    """Return the tools of a way, a dose in several parts as one."""
    return [tool for tool, _ in groupby(tools)]


def search_ways(task: Task, paths: Sequence[Sequence[str]], simulator: Simulator[Any], seed: int) -> Ways:
    """Try orders of the first golden path's calls, and on the accepted ones other poses and doses.

    Motions and reads stay with the write that they lead to. Of poses and doses, one is changed at a time,
    then several at once, drawn by the seed, up to the world's number of ways.
    """
    assert task.world is not None
    most = task.world.type.ways
    rng = random.Random(stream(STREAMS, seed, "ways", task.id))
    found = Ways()
    symbols = [task.automaton.symbols[name] for name in paths[0]]
    steps = [
        _Step(call, tuple(choices(symbol, call)))
        for symbol, call in zip(symbols, example_calls(task.automaton, paths[0], task.offered), strict=True)
    ]
    judge = _Judge(task, simulator, seed, found)
    units = _units(task, steps)
    orders = _orders(units, judge, most)
    accepted = [order for order in orders[:most] if judge([step.call for step in order])]
    found.meant = [_tools(step.call.name for step in order) for order in accepted]
    found.all = _arrangements(units) * math.prod(len(step.choices) for step in steps)
    for way in _variations(accepted, rng, most):
        found.tried += 1
        judge(way)
    return found


@dataclass(frozen=True)
class _Step:
    """A call of a golden path, and what may be made in its place: itself, then other poses or doses."""

    call: Call
    choices: tuple[tuple[Call, ...], ...]


Unit: TypeAlias = tuple[_Step, ...]


class _Judge:
    """Judges a way by running it, and by the automaton."""

    def __init__(self, task: Task, simulator: Simulator[Any], seed: int, found: Ways) -> None:
        self.task, self.simulator, self.seed, self.found = task, simulator, seed, found
        self._trial = Trials(task, simulator, seed)
        self._idle = task.idle_writes(seed)

    def __call__(self, way: Sequence[Call]) -> bool:
        """Run a way; return whether the automaton accepts it."""
        outcome = self._trial(way)
        accepted = is_accepted(self.task, way, self._idle)
        if outcome.good and not accepted:
            self.found.narrow.append(tuple(way))
        elif not outcome.good and outcome.refused is None and accepts(self.task.automaton, way):
            self.found.wide.append((tuple(way), outcome.reason))
        return accepted

    def executes(self, unit: Unit) -> bool:
        """Return whether the world executes a unit, from where it stands, without harm."""
        for step in unit:
            if step.call.name in self.task.device.by_name:
                self.found.calls += 1
                execute = partial(self.simulator.execute, step.call.name, step.call.arguments, Event())
                if until_told(step.call, execute).status is not CallStatus.OK or self.simulator.events:
                    return False
        return True


def _units(task: Task, steps: Sequence[_Step]) -> list[Unit]:
    units: list[Unit] = []
    before: list[_Step] = []
    for step in steps:
        before.append(step)
        tool = task.device.by_name.get(step.call.name)
        if tool is not None and tool.effect is not Effect.READ and set(tool.sets) != {"pose"}:
            units.append(tuple(before))
            before = []
    return [*units, tuple(before)] if before else units


def _arrangements(units: Sequence[Unit]) -> int:
    """Return how many orders there are; units that are equal make one."""
    alike = (units.count(one) for place, one in enumerate(units) if one not in units[:place])
    return math.factorial(len(units)) // math.prod(map(math.factorial, alike))


def _orders(units: Sequence[Unit], judge: _Judge, most: int) -> list[Unit]:
    """Return the orders that the world executes without harm, the given one first.

    An order is left at its first refusal, with all those that begin alike.
    """
    task, simulator, found = judge.task, judge.simulator, judge.found
    simulator.init(task.init, judge.seed)
    whole: list[Unit] = []
    todo: list[tuple[Snapshot, Unit, Sequence[Unit]]] = [(simulator.snapshot(), (), units)]
    while todo:
        here, way, left = todo.pop()
        if not left:
            whole.append(way)
            found.tried += 1
            continue
        if found.calls >= CALLS_A_WAY * most:
            found.orders_done = False
            break
        children = []
        for place, unit in enumerate(left):
            if unit in left[:place]:
                continue
            simulator.restore(here)
            rest = (*left[:place], *left[place + 1 :])
            if judge.executes(unit):
                children.append((simulator.snapshot(), (*way, *unit), rest))
            else:
                found.tried += _arrangements(rest)
        todo += reversed(children)
    return whole


def _variations(orders: Sequence[Unit], rng: random.Random, most: int) -> Iterator[list[Call]]:
    """Yield ways with one call changed, in a drawn order, then with any, each once; all if they are few."""
    if not orders:
        return
    golden = orders[0]
    ones = [
        [golden[k].choices[0] if k != place else choice for k in range(len(golden))]
        for place, step in enumerate(golden)
        for choice in step.choices[1:]
    ]
    everything = math.prod(len(step.choices) for step in golden)
    if len(orders) == 1 and everything <= most:
        yield from islice((_flat(way) for way in product(*(step.choices for step in golden))), 1, None)
        return
    # In the order of their first change, so that each goes on from the one before it.
    drawn = sorted(rng.sample(range(len(ones)), min(len(ones), most // 2)))
    yield from (_flat(ones[place]) for place in drawn)
    seen: list[list[Call]] = []
    for _ in range(most // 2):
        order = rng.choice(orders)
        way = _flat([rng.choice(step.choices) if rng.random() < 0.5 else step.choices[0] for step in order])
        if way not in seen:
            seen.append(way)
            yield way


def _flat(way: Iterable[tuple[Call, ...]]) -> list[Call]:
    return [call for part in way for call in part]
