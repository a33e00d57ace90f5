"""tau2-bench: files of simulations, single simulations; and the records of tau-bench before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Any

from core_eval.imports.chat import arguments_of, read_chat, read_tools
from core_eval.imports.fields import (
    RecordError,
    listed,
    mapping,
    moment,
    name,
    needed_name,
    number,
    objects,
    whole_number,
    words,
)
from core_eval.imports.join import Overlap, conversation, gold_entities, overlap
from core_eval.imports.record import Gold, GoldCall, ImportedTrace, Message, ToolSpec
from core_eval.imports.registry import Importer, Read
from core_eval.imports.source import ImportFileError, Shape, Source, record_of
from core_eval.text.json_text import to_json

BY_TASK, BY_REWARD = "task_id", "reward_info"
JOINS = (BY_TASK, BY_REWARD)
SAMPLE = 200
"""Simulations by which the joins are compared."""
ENDS: Mapping[str, str] = {
    "user_stop": "done",
    "agent_stop": "done",
    "max_steps": "max_steps",
    "timeout": "max_time",
    "context_window_exceeded": "context",
}
"""Why a simulation ended, in the log's words."""
FAILURES = frozenset({"agent_error", "user_error", "infrastructure_error", "unexpected_error"})
"""Ends that are no fault of the path."""


@dataclass
class _Head:
    """What a file says of all its simulations."""

    info: Mapping[str, Any] = field(default_factory=dict)
    tasks: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    golds: dict[str, Gold | None] = field(default_factory=dict)

    def take(self, key: str | None, value: Any) -> None:
        if key == "info" and isinstance(value, Mapping):
            self.info = value
        elif key == "tasks" and isinstance(value, Mapping) and "id" in value:
            ident = str(value["id"])
            if ident not in self.tasks:
                self.tasks[ident] = value
                try:
                    self.golds[ident] = task_gold(value)
                except RecordError:
                    # The traces of such a task have no gold.
                    self.golds[ident] = None

    def of(self, gold: Gold | None, task: str | None) -> str | None:
        """Return the task that has this gold: the one that is named, where its gold is this one."""
        if gold is None or not self.tasks:
            return task
        wanted = _signature(gold)
        same = [one for one, known in self.golds.items() if known and _signature(known) == wanted]
        if task in same or not same:
            return task if same else f"gold-{sha256(wanted.encode()).hexdigest()[:8]}"
        return same[0]


def detects(shape: Shape) -> bool:
    """Tell whether there are simulations, or a record has a judged trajectory."""
    keys = shape.keys
    if {"info", "tasks"} <= keys or {"info", "traj"} <= keys:
        return True
    return bool(keys & {"simulations", "reward_info", "termination_reason"})


def read(source: Source, join: str | None) -> Iterator[Read]:
    """Yield a reader of each simulation, joined with its task by `join`.

    Raises:
        ImportFileError: no join is named, and the gold that the file's own key leads to is not of these
            conversations; the text says which other join there is.
    """
    head, samples = _looked_at(source)
    joins = _joins(head, samples)
    chosen = join or next(iter(joins), BY_TASK)
    if join is None and chosen in joins and not joins[chosen].fits:
        told = "; ".join(f"--join {one}: {100 * found.share:.0f} %" for one, found in joins.items())
        raise ImportFileError(
            f"traces and tasks do not fit: of what a task's gold names, its conversation has by {told} (mean "
            f"of {joins[chosen].traces}): choose a join"
        )
    for key, value in _pieces(source):
        if key == "simulations":
            yield partial(_trace, value, head, chosen)


def _looked_at(source: Source) -> tuple[_Head, list[ImportedTrace]]:
    """Return what stands before the simulations, and the first of them."""
    head = _Head()
    samples: list[ImportedTrace] = []
    try:
        for key, value in _pieces(source):
            head.take(key, value)
            if key == "simulations" and len(samples) < SAMPLE:
                with suppress(RecordError):
                    samples.append(_trace(value, _Head(), BY_REWARD, len(samples) + 1))
            if len(samples) == SAMPLE and head.tasks:
                break
    except ImportFileError:
        # Who reads the simulations comes to the same place.
        if not samples:
            raise
    return head, samples


def _joins(head: _Head, samples: Sequence[ImportedTrace]) -> dict[str, Overlap]:
    """Return the overlap of each join that the file allows, the file's own key first."""
    golds: dict[str, Callable[[ImportedTrace], Gold | None]] = {
        BY_TASK: lambda trace: head.golds.get(trace.task or ""),
        BY_REWARD: lambda trace: trace.gold,
    }
    texts = [conversation(trace) for trace in samples]
    found = {
        join: overlap((text, gold_entities(gold(trace))) for text, trace in zip(texts, samples, strict=True))
        for join, gold in golds.items()
    }
    return {join: one for join, one in found.items() if one.traces or (join == BY_TASK and head.tasks)}


def _pieces(source: Source) -> Iterator[tuple[str | None, Any]]:
    """Yield the pieces of a file, its simulations with the key `simulations`, whatever holds them."""
    if not source.shape.listed and not source.shape.keys & {"simulations", "tasks"}:
        for value in source.records():
            yield "simulations", value
        return
    for key, value, of_list in source.items():
        if of_list or key != "simulations":
            yield ("simulations" if key is None else key), value


def _trace(value: Any, head: _Head, join: str, number_: int) -> ImportedTrace:
    record = record_of(value)
    if "messages" not in record and "traj" not in record:
        spoken = ": a simulation by voice is not read" if "ticks" in record else ""
        raise RecordError(f"'messages' is missing{spoken}")
    trace = _of_tau(record, number_) if "traj" in record else _of_tau2(record, head, number_)
    if join == BY_REWARD or "traj" in record:
        return replace(trace, task=head.of(trace.gold, trace.task))
    known = head.tasks.get(trace.task or "")
    return replace(trace, gold=head.golds.get(trace.task or ""), asked=asked(known))


def _of_tau2(record: Mapping[str, Any], head: _Head, number_: int) -> ImportedTrace:
    chat = read_chat(listed(record, "messages"))
    judged = mapping(record, "reward_info")
    agent, world = mapping(head.info, "agent_info"), mapping(head.info, "environment_info")
    why = name(record, "termination_reason")
    policy = words(world.get("policy"))
    defined = read_tools(world, "tool_defs") if isinstance(world.get("tool_defs"), list) else ()
    return ImportedTrace(
        name(record, "id") or str(number_),
        number_,
        name(record, "task_id"),
        (*([Message("system", policy)] if policy else ()), *chat.messages),
        tuple(chat.calls),
        tools=defined or _tools_of_checks(judged),
        reward=number(judged.get("reward")),
        gold=_checked_gold(judged, ended=why in ENDS),
        agent=name(agent, "llm", "implementation"),
        domain=name(world, "domain_name"),
        seed=whole_number(record.get("seed", record.get("trial"))),
        end=ENDS.get(why or "", why),
        failure=why if why in FAILURES else None,
        started=moment(record.get("start_time")),
        ended=moment(record.get("end_time")),
        seconds=number(record.get("duration")),
    )


def _of_tau(record: Mapping[str, Any], number_: int) -> ImportedTrace:
    chat = read_chat(listed(record, "traj"), "traj")
    task = mapping(mapping(record, "info"), "task")
    gold = None
    if "actions" in task:
        gold = Gold(tuple(gold_calls(objects(task, "actions"))), "info.task.actions")
    return ImportedTrace(
        str(number_),
        number_,
        name(record, "task_id"),
        tuple(chat.messages),
        tuple(chat.calls),
        reward=number(record.get("reward")),
        gold=gold,
        seed=whole_number(record.get("trial")),
        end="done",
        asked=words(task.get("instruction")),
    )


def task_gold(task: Mapping[str, Any]) -> Gold | None:
    """Return the gold of a task of tau2; None where it has no criteria."""
    criteria = mapping(task, "evaluation_criteria")
    if not criteria:
        return None
    return Gold(tuple(gold_calls(objects(criteria, "actions"))), "tasks.evaluation_criteria.actions")


def asked(task: Mapping[str, Any] | None) -> str:
    """Return what a task's user wants, as the file tells its simulated user."""
    told = mapping(task or {}, "user_scenario").get("instructions")
    parts = told.values() if isinstance(told, Mapping) else [told]
    return "\n".join(part for part in parts if isinstance(part, str))


def _checked_gold(judged: Mapping[str, Any], *, ended: bool) -> Gold | None:
    """Return the actions that the judge looked for: none where a simulation that ended was judged by none."""
    if judged.get("action_checks") is None and not (judged and ended):
        return None
    checks = [mapping(check, "action") for check in objects(judged, "action_checks")]
    return Gold(tuple(gold_calls(checks)), "reward_info.action_checks")


def gold_calls(actions: Sequence[Mapping[str, Any]]) -> Iterator[GoldCall]:
    """Yield the calls of a list of right actions.

    Raises:
        RecordError: one has no tool, or arguments that are no object.
    """
    for place, action in enumerate(actions):
        tool = needed_name(action, "name", f"action {place}: ")
        given, fault = arguments_of(action.get("arguments", action.get("kwargs")))
        if fault is not None:
            raise RecordError(f"action {place}: 'arguments' {fault.error}")
        compared = None if action.get("compare_args") is None else listed(action, "compare_args")
        yield GoldCall(
            tool,
            given,
            None if compared is None else tuple(map(str, compared)),
            name(action, "requestor") or "assistant",
        )


def _tools_of_checks(judged: Mapping[str, Any]) -> tuple[ToolSpec, ...]:
    """Return the tools whose kind the judge names."""
    found = {}
    for check in objects(judged, "action_checks"):
        tool, kind = mapping(check, "action").get("name"), check.get("tool_type")
        if isinstance(tool, str) and kind in ("read", "write"):
            found[tool] = ToolSpec(tool, effect=kind)
    return tuple(found.values())


def _signature(gold: Gold) -> str:
    return to_json([[call.name, call.arguments] for call in gold.calls])


TAU2 = Importer("tau2", detects, read, joins=JOINS, rank=3)
