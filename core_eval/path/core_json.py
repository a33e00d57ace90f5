"""Reads CORE's JSON: an array of tasks, each with its automaton."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core_eval.path.automaton import AutomatonError, TaskAutomaton
from core_eval.path.patterns import Anything, Exact, Excluded, Pattern
from core_eval.path.substitution import substituted
from core_eval.path.symbols import Symbol
from core_eval.text.foreign_json import ForeignJsonError, parse_json

_RECORD_KEYS = frozenset({"prompt_id", "world", "prompt", "nodes", "alphabet"})
_NODE_KEYS = frozenset({"name", "is_final", "transitions"})
_EDGE_KEYS = frozenset({"symbols", "from", "to"})
_SYMBOL_KEYS = frozenset({"name", "arguments"})
_PATTERN_KEYS = frozenset({"name", "value", "excluded_values", "type"})


@dataclass(frozen=True)
class CoreTask:
    """One task of a CORE file; `id` is its prompt_id as text."""

    id: str
    world: str
    prompt: str
    automaton: TaskAutomaton


@dataclass(frozen=True)
class CoreFile:
    """The valid tasks of a file, and the faults of its other records.

    Attributes:
        malformed: one line for each fault, by the record's prompt_id; by `record N` (from 0) where it has
            none, or one that is used twice.
    """

    tasks: tuple[CoreTask, ...]
    malformed: Mapping[str, tuple[str, ...]]

    @property
    def faults(self) -> tuple[str, ...]:
        """One line for each fault, in the order of the file."""
        return tuple(fault for faults in self.malformed.values() for fault in faults)


Translate = Callable[[Symbol], Sequence[Symbol]]
"""Gives the symbols that stand for one, in a row; raises ValueError with a sentence where there are none."""


def parse_core_json(text: str, file: str, translate: Translate | None = None) -> CoreFile:
    """Read CORE tasks; a malformed record is a fault and the others still load.

    `file` begins every fault. Raises AutomatonError when the text is no JSON array.
    """
    try:
        records = parse_json(text)
    except ForeignJsonError as error:
        raise AutomatonError([f"{file}: {error}"]) from error
    if not isinstance(records, list):
        raise AutomatonError([f"{file}: must hold a JSON array of tasks, not {_json_type(records)}"])
    tasks: dict[str, CoreTask] = {}
    malformed: dict[str, tuple[str, ...]] = {}
    for place, record in enumerate(records):
        ident = record.get("prompt_id") if isinstance(record, Mapping) else None
        name = str(ident) if _is_name(ident) else f"record {place}"
        if name in tasks:
            fault = f"{file}: task {name}: prompt_id is used twice; the first one counts"
            malformed[f"record {place}"] = (fault,)
            continue
        try:
            tasks[name] = _task(record, file, place, translate)
        except AutomatonError as error:
            malformed[f"record {place}" if name in malformed else name] = error.faults
    return CoreFile(tuple(tasks.values()), malformed)


def _task(record: Any, file: str, place: int, translate: Translate | None) -> CoreTask:
    if not isinstance(record, Mapping):
        raise AutomatonError([f"{file}: record {place}: must be an object, not {_json_type(record)}"])
    ident = record.get("prompt_id")
    named = _is_name(ident)
    where = f"{file}: task {ident}" if named else f"{file}: record {place}"
    reader = _Reader()
    if not named:
        reader.fault("'prompt_id' must be a string or a number")
    reader.unknown_keys(record, _RECORD_KEYS, "")
    prompt, world = record.get("prompt"), record.get("world")
    for key, value in (("prompt", prompt), ("world", world)):
        if value is not None and not isinstance(value, str):
            reader.fault(f"{key!r} must be a string, not {_json_type(value)}")
    symbols = reader.alphabet(record.get("alphabet"))
    reader.nodes(record.get("nodes"), {symbol.name for symbol in symbols})
    if translate is not None and not reader.faults:
        symbols = reader.translated(symbols, translate)
    if reader.faults:
        raise AutomatonError([f"{where}: {fault}" for fault in reader.faults])
    automaton = TaskAutomaton(
        states=reader.states,
        symbols=symbols,
        start=reader.states[0],
        accepting=reader.accepting,
        delta=reader.delta,
        warnings=[f"{where}: {text}" for text in reader.warnings],
        where=where,
    )
    return CoreTask(str(ident), world or "", prompt or "", automaton)


class _Reader:
    """Collects the parts of one record and its faults."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.warnings: list[str] = []
        self.states: list[str] = []
        self.accepting: list[str] = []
        self.delta: dict[tuple[str, str], str] = {}

    def fault(self, text: str) -> None:
        self.faults.append(text)

    def translated(self, symbols: Sequence[Symbol], translate: Translate) -> list[Symbol]:
        into: dict[str, Sequence[Symbol]] = {}
        for symbol in symbols:
            try:
                into[symbol.name] = translate(symbol)
            except ValueError as error:
                self.fault(f"symbol {symbol.name!r}: {error}")
        if self.faults:
            return []
        made = substituted(self.states[0], self.accepting, self.delta, into)
        self.states, self.accepting, self.delta = [*made.states], [*made.accepting], dict(made.delta)
        return [*made.symbols]

    def unknown_keys(self, given: Mapping[str, Any], known: frozenset[str], where: str) -> None:
        for key in given:
            if key not in known:
                self.fault(f"{where}unknown key {key!r}; the keys are {', '.join(sorted(known))}")

    def alphabet(self, given: Any) -> list[Symbol]:
        if not isinstance(given, Mapping):
            self.fault(f"'alphabet' must be an object, not {_json_type(given)}")
            return []
        symbols = []
        for name, entry in given.items():
            where = f"symbol {name!r}: "
            if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
                self.fault(f"{where}must be an object with the tool's 'name'")
                continue
            self.unknown_keys(entry, _SYMBOL_KEYS, where)
            arguments = entry.get("arguments")
            if arguments is None:
                arguments = {}
            if not isinstance(arguments, Mapping):
                self.fault(f"{where}'arguments' must be an object, not {_json_type(arguments)}")
                continue
            patterns = {key: self.pattern(key, value, where) for key, value in arguments.items()}
            symbols.append(Symbol(name, entry["name"], patterns))
        return symbols

    def pattern(self, argument: str, given: Any, where: str) -> Pattern:
        where = f"{where}argument {argument!r}: "
        if not isinstance(given, Mapping):
            self.fault(f"{where}must be an object, not {_json_type(given)}")
            return Anything()
        self.unknown_keys(given, _PATTERN_KEYS, where)
        if given.get("name", argument) != argument:
            self.warnings.append(f"{where}its 'name' says {given['name']!r}; the key counts")
        if given.get("value") is not None:
            return Exact(given["value"])
        excluded = given.get("excluded_values")
        if excluded is None:
            return Anything()
        if not isinstance(excluded, list):
            self.fault(f"{where}'excluded_values' must be a list or null, not {_json_type(excluded)}")
            return Anything()
        return Excluded(tuple(excluded))

    def nodes(self, given: Any, symbols: set[str]) -> None:
        if not isinstance(given, list) or not given:
            self.fault("'nodes' must be a list of at least one state")
            return
        declared = {
            str(node["name"]) for node in given if isinstance(node, Mapping) and _is_name(node.get("name"))
        }
        seen: set[str] = set()
        for place, node in enumerate(given):
            if not isinstance(node, Mapping) or not _is_name(node.get("name")):
                self.fault(f"node {place}: must be an object with a 'name'")
                continue
            name = str(node["name"])
            where = f"state {name!r}: "
            self.unknown_keys(node, _NODE_KEYS, where)
            if name in seen:
                self.fault(f"{where}is declared twice")
                continue
            seen.add(name)
            self.states.append(name)
            if not isinstance(node.get("is_final", False), bool):
                self.fault(f"{where}'is_final' must be true or false")
            elif node.get("is_final", False):
                self.accepting.append(name)
            transitions = node.get("transitions") or []
            if not isinstance(transitions, list):
                self.fault(f"{where}'transitions' must be a list")
                continue
            for edge in transitions:
                self.edge(name, edge, where, declared, symbols)

    def edge(self, source: str, edge: Any, where: str, declared: set[str], symbols: set[str]) -> None:
        if not isinstance(edge, Mapping) or not isinstance(edge.get("symbols"), list):
            self.fault(f"{where}a transition must be an object with 'symbols' (a list), 'from' and 'to'")
            return
        self.unknown_keys(edge, _EDGE_KEYS, where)
        target = str(edge.get("to"))
        listed = ", ".join(map(repr, edge["symbols"]))
        if str(edge.get("from", source)) != source:
            self.fault(f"{where}the transition on {listed} says it is from {edge['from']!r}")
        if target not in declared:
            self.fault(f"{where}the transition on {listed} goes to {edge.get('to')!r}, which is not declared")
            return
        for symbol in edge["symbols"]:
            if not isinstance(symbol, str) or symbol not in symbols:
                self.fault(f"{where}symbol {symbol!r} is not in the alphabet")
            elif self.delta.setdefault((source, symbol), target) != target:
                other = self.delta[source, symbol]
                self.fault(f"{where}symbol {symbol!r} goes both to {other!r} and to {target!r}")


def _is_name(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _json_type(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
