"""Searches a task's world for harmless ways to a golden end state that the automaton does not accept."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any

from configs.idle_writes import IdleWrites
from configs.task import Task
from core_eval.call_status import CallStatus
from core_eval.harm.harmful_events import harm_events
from core_eval.path.calls import Call
from core_eval.verify.candidates import candidate_writes
from core_eval.verify.trials import Trials, example_calls
from sims.simulator import Simulator, Snapshot
from sims.software.world import SoftwareWorld

MOST_CALLS = 4_000
"""Maximum number of calls that are tried for a task."""
EXTRA = 1
"""By so many writes a way may be longer than the longest golden path."""


@dataclass(frozen=True)
class Search:
    """What a search found.

    Attributes:
        left_out: the shortest ways that end as a golden path does, do no harm, and leave the automaton.
        tried: how many calls were tried.
        complete: whether all ways of the candidate calls were, up to the bound on length.
    """

    left_out: tuple[tuple[Call, ...], ...]
    tried: int
    complete: bool

    @property
    def line(self) -> str:
        """What it proves, in a line."""
        return "proved" if self.complete else f"bounded at {self.tried} calls"


@dataclass(frozen=True)
class _Place:
    snapshot: Snapshot
    state: str | None
    """The automaton's; None once it was left."""
    way: tuple[Call, ...]


def check_complete(
    task: Task, paths: Sequence[Sequence[str]], simulator: Simulator[Any], seed: int
) -> tuple[list[str], list[str]]:
    """Return a fault for each harmless way that the automaton does not accept, and what the search proves.

    Of a task without a goal such a way is a remark. Ways that the task file leaves out for a reason are
    none. Worlds with physics are searched by `check_ways`.
    """
    if task.answer is not None or not isinstance(simulator, SoftwareWorld):
        return [], []
    found = search(task, paths, simulator, seed)
    narrow = [
        f"too narrow: {' '.join(map(written, way))} ends as a golden path does, and does no harm"
        for way in found.left_out
        if not excused(task, way)
    ]
    if not narrow:
        return [], [f"every harmless way is accepted: {found.line}"]
    if task.goal is None:
        # An automaton in CORE's JSON was given as it is, and its file has no room for reasons.
        return [], narrow
    return [f"{way}: allow it, or say why in `left_out`" for way in narrow], []


def excused(task: Task, way: Sequence[Call]) -> bool:
    """Return whether the task's file leaves a way out for a reason: by its writes."""
    writes = [call for call in way if call.name not in task.offered.reads]
    return any(left_out.is_of(writes) for left_out in task.left_out)


def written(call: Call) -> str:
    """Return a call as faults state it."""
    return f"{call.name}({', '.join(map(str, call.arguments.values()))})"


def search(task: Task, paths: Sequence[Sequence[str]], simulator: Simulator[Any], seed: int) -> Search:
    """Try every order of candidate writes, breadth first, over pairs of world state and automaton state.

    Reads that the plan asks for are taken as made: a way without them is not left out by the automaton.

    Args:
        task: of a world without physics.
        paths: golden paths, whose end states are those to reach.
        simulator: of its world.
        seed: of the world.
    """
    automaton, reads = task.automaton, task.offered.reads
    ends = {end for path in paths if (end := _end(task, path, simulator, seed)) is not None}
    longest = max(
        (sum(automaton.symbols[name].tool not in reads for name in path) for path in paths), default=0
    )
    simulator.init(task.init, seed)
    calls = candidate_writes(task, simulator.state_dict())
    todo = deque([_Place(simulator.snapshot(), automaton.start, ())])
    seen: set[tuple[str, str | None]] = {(_text(simulator), automaton.start)}
    accepted: list[tuple[Call, ...]] = []
    left_out: list[tuple[Call, ...]] = []
    tried = 0
    while todo and tried < MOST_CALLS:
        place = todo.popleft()
        if len(place.way) == longest + EXTRA:
            continue
        simulator.restore(place.snapshot)
        here = _text(simulator)
        changed = False
        for call in calls:
            if changed:
                simulator.restore(place.snapshot)
            tried += 1
            outcome = simulator.execute(call.name, call.arguments, Event())
            changed = outcome.status is CallStatus.OK
            text = _text(simulator)
            if not changed or harm_events(simulator) or text == here:
                continue
            for state in after(task, place.state, call):
                way = (*place.way, call)
                if text in ends and state is not None:
                    accepted.append(way)
                if text in ends and state is None:
                    left_out.append(way)
                elif (text, state) not in seen:
                    seen.add((text, state))
                    todo.append(_Place(simulator.snapshot(), state, way))
    return Search(_without_detours(left_out, accepted), tried, not todo)


def is_accepted(task: Task, way: Iterable[Call], idle: IdleWrites | None = None) -> bool:
    """Return whether the automaton accepts a way, the reads that its plan asks for taken as made."""
    states = {task.automaton.start}
    made: list[Call] = []
    for call in way:
        if call.name not in task.offered.reads:
            reached = {one for state in states for one in after(task, state, call) if one is not None}
            if not reached and (idle is None or not idle(made, call)):
                return False
            states = reached or states
        made.append(call)
    return any(_around(task, state) & task.automaton.accepting for state in states)


def after(task: Task, state: str | None, call: Call) -> Iterator[str | None]:
    """Yield the automaton's states after a call, the reads that its plan asks for before it taken as made."""
    if state is None:
        yield None
        return
    automaton, around = task.automaton, _around(task, state)
    symbol = automaton.symbol_of(call)
    reached = {automaton.delta[one, symbol] for one in around if symbol and (one, symbol) in automaton.delta}
    yield from sorted(reached) if reached else [None]


def _around(task: Task, state: str) -> set[str]:
    """Return the states that reads of the plan lead to from a state, itself included."""
    around, todo = {state}, [state]
    while todo:
        for name, target in task.automaton.progress[todo.pop()]:
            if task.automaton.symbols[name].tool in task.offered.reads and target not in around:
                around.add(target)
                todo.append(target)
    return around


def _end(task: Task, path: Sequence[str], simulator: Simulator[Any], seed: int) -> str | None:
    """Return the end state of a golden path; None if the world refuses it."""
    outcome = Trials(task, simulator, seed)(example_calls(task.automaton, path, task.offered))
    return _text(simulator) if outcome.refused is None else None


def _without_detours(
    ways: Sequence[tuple[Call, ...]], accepted: Sequence[tuple[Call, ...]]
) -> tuple[tuple[Call, ...], ...]:
    """Return the ways of which no shorter or accepted one is a part: the others have needless calls."""
    kept: list[tuple[Call, ...]] = []
    for way in sorted(ways, key=len):
        if not any(_is_part(short, way) for short in (*accepted, *kept)):
            kept.append(way)
    return tuple(kept)


def _is_part(short: Sequence[Call], way: Sequence[Call]) -> bool:
    left = iter(way)
    return all(any(call == other for other in left) for call in short)


def _text(simulator: Simulator[Any]) -> str:
    return json.dumps(simulator.state_dict(), sort_keys=True, default=str)
