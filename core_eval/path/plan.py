"""Compiles task plans into automata.

A plan is a list of steps; `parse_plan` reads it into nested `Node`s, `compile_plan` into a TaskAutomaton.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any

from core_eval.path.automaton import AutomatonError, TaskAutomaton
from core_eval.path.facts import Fact
from core_eval.path.patterns import Anything, Pattern, parse_pattern
from core_eval.path.plan_language import (
    EMPTY,
    AnyOrder,
    Choice,
    Interleaved,
    Plan,
    Step,
    minimal_automaton,
    sequence,
)
from core_eval.path.plan_language import Sequence as Parts
from core_eval.path.stages import Stages
from core_eval.path.symbols import ANY_ARGUMENTS, Symbol

LISTED_STATES = 4096
"""A plan of single steps with more states is kept as a plan of stages."""
_FORMS = (
    "a tool name, {tool: {argument: pattern}}, {sequence: [..]}, {any_order: [..]}, {interleave: [..]}, "
    "{choice: [..]}, {optional: ..}, {repeat: {times: [min, max], steps: [..]}}, "
    "{look: {fact: .., by: [..]}} or {until: {fact: .., by: [..], times: .., steps: [..]}}"
)
_automaton_of = lru_cache(maxsize=256)(minimal_automaton)
"""Of the plans with up to so many different shapes; nobody changes what it returns."""
_FACT = frozenset({"fact", "by"})
_KEYS = {"look": (_FACT,), "until": (_FACT, _FACT | {"times", "steps"})}
"""The keys of the steps of a fact."""
_WORDS = frozenset({"sequence", "any_order", "interleave", "choice", "optional", "repeat", *_KEYS})


def compile_plan(plan: Any, *, free_reads: Iterable[str], file: str, task: str) -> TaskAutomaton:
    """Compile a plan, a list of steps, into the smallest automaton of its orders, of the second reading.

    `free_reads` are tools that self-loop in every state with any arguments; such a tool named in the
    plan is a mandatory read there, and free elsewhere. `file` and `task` begin every error. Raises
    AutomatonError with all faults.
    """
    reader = _PlanReader()
    tree = reader.steps(plan, "plan")
    where = f"{file}: task {task}"
    if reader.faults:
        raise AutomatonError([f"{where}: {fault}" for fault in reader.faults])
    symbols = dict(reader.symbols)
    free = list(dict.fromkeys(free_reads))
    symbols |= {symbol.name: symbol for symbol in map(Symbol.of_tool, free)}
    names = [*reader.symbols]
    loops = [symbol.name for symbol in symbols.values() if symbol.tool in free]
    stages = _stages(tree, names, loops)
    if stages is not None and not any(symbol.is_part for symbol in symbols.values()):
        return TaskAutomaton(symbols=list(symbols.values()), stages=stages, where=where, reading=2)
    graph = _Graph(tree, names, loops)
    return TaskAutomaton(symbols=list(symbols.values()), plan=graph, where=where, reading=2)


@dataclass(frozen=True)
class _Graph:
    """States and edges of a plan, computed when they are asked for: who lists tasks needs none.

    Attributes:
        names: the symbols by their numbers in the plan.
        loops: the symbols that are self-loops wherever they are no progress.
    """

    plan: Plan
    names: Sequence[str]
    loops: Sequence[str]

    @cached_property
    def states(self) -> Sequence[str]:
        """All states, the start first."""
        return tuple(f"s{number}" for number in range(len(_automaton_of(self.plan)[0])))

    @cached_property
    def accepting(self) -> frozenset[str]:
        """The accepting states."""
        return frozenset(self.states[number] for number in _automaton_of(self.plan)[1])

    @cached_property
    def delta(self) -> Mapping[tuple[str, str], str]:
        """All edges, self-loops too."""
        states = self.states
        delta = {
            (states[source], self.names[int(number)]): states[target]
            for source, out in enumerate(_automaton_of(self.plan)[0])
            for number, target in out.items()
        }
        for symbol in self.loops:
            for state in states:
                delta.setdefault((state, symbol), state)
        return MappingProxyType(delta)


def _stages(plan: Plan, names: Sequence[str], free: Sequence[str]) -> Stages | None:
    """Return a plan of single steps, in sequence and any order, as stages; None where its states are few.

    So is a plan of optional steps in any order.
    """
    if isinstance(plan, AnyOrder) and (options := _optional_steps(plan.blocks)) is not None:
        found = Stages([[names[int(step)] for step in options]], free, optional=True)
        return found if found.count() > LISTED_STATES else None
    parts = plan.parts if isinstance(plan, Parts) else (plan,)
    stages: list[list[str]] = []
    for part in parts:
        blocks = part.blocks if isinstance(part, AnyOrder) else (part,)
        steps = [names[int(block.symbol)] for block in blocks if isinstance(block, Step)]
        if len(steps) < len(blocks):
            return None
        stages.append(steps)
    found = Stages(stages, free)
    return found if found.count() > LISTED_STATES else None


def _optional_steps(blocks: Sequence[Plan]) -> list[str] | None:
    """Return the steps of blocks that are one optional step each; else None."""
    found = []
    for block in blocks:
        match block:
            case Choice((Step(symbol), Parts(()))):
                found.append(symbol)
            case _:
                return None
    return found


def plan_symbols(steps: Iterable[Any], key: str) -> tuple[Symbol, ...]:
    """Return the symbols of calls that are written as a plan's steps; `key` begins every fault.

    Raises:
        AutomatonError: one has another form.
    """
    reader = _PlanReader()
    for place, step in enumerate(steps):
        reader.step(step, f"{key}[{place}]")
    if reader.faults:
        raise AutomatonError(reader.faults)
    return tuple(reader.symbols.values())


def _is_call(word: Any, written: Any) -> bool:
    """Tell a call from the other steps, also that of a tool named `look` or `until`."""
    keys = _KEYS.get(word)
    return word not in _WORDS or (
        keys is not None and not (isinstance(written, Mapping) and set(written) in keys)
    )


class _PlanReader:
    """Reads a plan parsed from YAML, and collects its symbols and faults.

    Its steps have the numbers of their symbols: the instances of a template have one plan.
    """

    def __init__(self) -> None:
        self.symbols: dict[str, Symbol] = {}
        self.faults: list[str] = []

    def steps(self, written: Any, where: str) -> Plan:
        """Read a list of steps, or one step, that follow each other."""
        if not isinstance(written, list):
            return self.step(written, where)
        return sequence(*(self.step(step, f"{where}[{place}]") for place, step in enumerate(written)))

    def blocks(self, written: Any, where: str) -> list[Plan]:
        if not isinstance(written, list) or not written:
            self.faults.append(f"{where}: needs a list of steps, not {written!r}")
            return []
        return [self.steps(block, f"{where}[{place}]") for place, block in enumerate(written)]

    def step(self, written: Any, where: str) -> Plan:
        if isinstance(written, str):
            return self.tool(written, {}, where)
        if not isinstance(written, Mapping) or len(written) != 1:
            self.faults.append(f"{where}: {written!r} is not a step: write {_FORMS}")
            return EMPTY
        ((word, inner),) = written.items()
        if _is_call(word, inner):
            return self.tool(word, inner, where)
        where = f"{where}.{word}"
        if word == "sequence":
            return sequence(*self.blocks(inner, where))
        if word == "any_order":
            return AnyOrder.of(self.blocks(inner, where))
        if word == "interleave":
            return Interleaved.of(self.blocks(inner, where))
        if word == "choice":
            return Choice.of(self.blocks(inner, where))
        if word == "optional":
            return Choice.of([self.steps(inner, where), EMPTY])
        if word == "repeat":
            return self.repeat(inner, where)
        # A read that does not tell the fact yet is a self-loop, so only rounds of steps are unrolled.
        rounds = {key: inner[key] for key in ("times", "steps") if key in inner}
        return sequence(self.repeat(rounds, where) if rounds else EMPTY, self.look(inner, where))

    def look(self, written: Any, where: str) -> Plan:
        """Read the step of a fact: any of its reads whose answer holds it."""
        try:
            fact = Fact.parse(written["fact"])
        except ValueError as error:
            self.faults.append(f"{where}.fact: {error}")
            return EMPTY
        ways = _PlanReader()
        ways.blocks(written["by"], f"{where}.by")
        self.faults += ways.faults
        found: list[Plan] = []
        for way in ways.symbols.values():
            arguments = way.arguments or {ANY_ARGUMENTS: Anything()}
            found.append(self.named(Symbol(f"{way.name} tells {fact}", way.tool, arguments, fact)))
        return Choice.of(found)

    def repeat(self, written: Any, where: str) -> Plan:
        if not isinstance(written, Mapping) or set(written) != {"times", "steps"}:
            self.faults.append(f"{where}: needs exactly 'times' and 'steps'")
            return EMPTY
        times = written["times"]
        if isinstance(times, int):
            times = [times, times]
        if (
            not isinstance(times, list | tuple)
            or len(times) != 2
            or not all(isinstance(count, int) and not isinstance(count, bool) for count in times)
            or not 0 <= times[0] <= times[1]
            or times[1] < 1
        ):
            self.faults.append(
                f"{where}.times: must be a number or [min, max], whole, min not above max, max 1 or more"
            )
            return EMPTY
        body = self.steps(written["steps"], f"{where}.steps")
        rest: Plan = EMPTY
        for _ in range(times[1] - times[0]):
            rest = Choice.of([sequence(body, rest), EMPTY])
        return sequence(*[body] * times[0], rest)

    def tool(self, tool: Any, arguments: Any, where: str) -> Plan:
        if not isinstance(tool, str) or not tool:
            self.faults.append(f"{where}: {tool!r} is not a tool name")
            return EMPTY
        if arguments is None:
            arguments = {}
        if not isinstance(arguments, Mapping):
            self.faults.append(f"{where}.{tool}: needs {{argument: pattern}}, not {arguments!r}")
            return EMPTY
        patterns: dict[str, Pattern] = {}
        for name, written in arguments.items():
            try:
                patterns[str(name)] = parse_pattern(written)
            except ValueError as error:
                self.faults.append(f"{where}.{tool}.{name}: {error}")
        name = tool
        if patterns:
            name = f"{tool}({', '.join(f'{key}{pattern}' for key, pattern in patterns.items())})"
        return self.named(Symbol(name, tool, patterns))

    def named(self, symbol: Symbol) -> Step:
        """Return the step of a symbol, whose name is made unlike that of any other."""
        name, number = symbol.name, 1
        while self.symbols.setdefault(symbol.name, symbol) != symbol:
            number += 1
            symbol = replace(symbol, name=f"{name}#{number}")
        return Step(str([*self.symbols].index(symbol.name)))
