"""Task entries from lists of right calls, as benchmarks keep them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from core_eval.imports.effects import ToolEffect
from core_eval.imports.fields import RecordError, mapping, name, objects
from core_eval.imports.record import GoldCall
from core_eval.imports.tau2 import asked, gold_calls
from core_eval.path.symbols import ANY_ARGUMENTS
from core_eval.text.notation import the_quantity

Match = Literal["exact", "in_order", "any_order", "superset", "subset"]
MATCHES: tuple[Match, ...] = get_args(Match)
NoAction = Literal["either", "decline", "nothing"]
NO_ACTIONS: tuple[NoAction, ...] = get_args(NoAction)
AGENT = "assistant"
ARGUMENT_FORMS = "exact, subset, ignore, or keys:NAME+NAME"


@dataclass(frozen=True)
class GoldTask:
    """A task of a gold file.

    Attributes:
        groups: its calls in order; those of a group are made in parallel.
        by_user: how many of the file's calls its simulated user makes; they are left out.
    """

    id: str
    prompt: str
    groups: tuple[tuple[GoldCall, ...], ...]
    by_user: int = 0

    @property
    def tools(self) -> list[str]:
        """The tools of its calls."""
        return [call.name for group in self.groups for call in group]


def read_gold(records: Iterable[Any]) -> Iterator[GoldTask | RecordError]:
    """Yield the task of each record, or its fault, which names the record.

    A record has `id` (or `task`, `task_id`, `prompt_id`; else its number counts), `prompt` (or
    `instruction`), and `actions`: calls with `name`, `arguments` (or `kwargs`) and perhaps `compare_args`, or
    lists of calls that are made in parallel. A record of tau2-bench has them in `evaluation_criteria`.
    """
    seen: set[str] = set()
    for place, record in enumerate(records):
        try:
            task = _task(record, place)
            if task.id in seen:
                raise RecordError(f"the id {task.id!r} stands twice")
        except RecordError as error:
            yield RecordError(f"record {place}: {error}")
            continue
        seen.add(task.id)
        yield task


def _task(record: Any, place: int) -> GoldTask:
    if not isinstance(record, Mapping):
        raise RecordError("must be an object with 'actions'")
    ident = name(record, "id", "task", "task_id", "prompt_id") or str(place)
    holder = mapping(record, "evaluation_criteria") if "evaluation_criteria" in record else record
    if "actions" not in holder:
        raise RecordError("has no 'actions', which may be an empty list")
    given = holder["actions"] or []
    if not isinstance(given, list):
        raise RecordError("'actions' must be a list of calls")
    groups, by_user = [], 0
    for number, one in enumerate(given):
        try:
            calls = list(gold_calls(objects({"group": one if isinstance(one, list) else [one]}, "group")))
        except RecordError as error:
            raise RecordError(f"action {number}: {error}") from None
        made = tuple(call for call in calls if call.requestor == AGENT)
        by_user += len(calls) - len(made)
        if made:
            groups.append(made)
    prompt = name(record, "prompt", "instruction") or asked(record)
    return GoldTask(ident, prompt, tuple(groups), by_user)


@dataclass(frozen=True)
class ArgumentMode:
    """Which arguments of a tool's calls are compared.

    Attributes:
        keys: those with these names; None: all that gold has.
        closed: whether a call may have no others.
    """

    keys: frozenset[str] | None = None
    closed: bool = False

    @classmethod
    def parse(cls, written: str) -> ArgumentMode:
        """Read `exact`, `subset`, `ignore` or `keys:NAME+NAME`.

        Raises:
            ValueError: it is something else.
        """
        if written in ("exact", "subset"):
            return cls(closed=written == "exact")
        if written == "ignore":
            return cls(frozenset())
        word, _, names = written.partition(":")
        if word == "keys" and all(names.split("+")):
            return cls(frozenset(names.split("+")))
        raise ValueError(f"must be {ARGUMENT_FORMS}, not {written!r}")

    def step(self, call: GoldCall) -> Any:
        """Return the step of a plan that such a call makes."""
        wanted = self.keys if call.compared is None else frozenset(call.compared)
        patterns = {
            key: _pattern(value) for key, value in call.arguments.items() if wanted is None or key in wanted
        }
        closed = self.closed and call.compared is None
        if closed and call.arguments:
            patterns[ANY_ARGUMENTS] = {"absent": True}
        elif not patterns and not closed:
            patterns[ANY_ARGUMENTS] = {"any": True}
        return {call.name: patterns} if patterns else call.name


def _pattern(value: Any) -> Any:
    """Return the pattern of a right argument: numbers by value and unit, other texts as they are."""
    if isinstance(value, list | dict) or the_quantity(value) is not None:
        return {"alike": value}
    return value


SUBSET = ArgumentMode()


def task_entry(
    task: GoldTask,
    match: Match,
    effects: Mapping[str, ToolEffect],
    modes: Mapping[str, ArgumentMode],
    no_action: NoAction,
) -> dict[str, Any]:
    """Return the entry of a task file for scoring.

    Args:
        task: the gold.
        match: how the calls of a path are compared with those of gold.
        effects: of all its tools.
        modes: of tools, by name; SUBSET for all others.
        no_action: how a task is ended that asks for no step.
    """
    groups = [
        [
            modes.get(call.name, SUBSET).step(call)
            for call in group
            if match == "exact" or effects[call.name].effect == "write"
        ]
        for group in task.groups
    ]
    entry: dict[str, Any] = {
        "id": task.id,
        "prompt": task.prompt,
        "match": match,
        "plan": _plan(groups, match),
    }
    if not entry["plan"] and no_action != "either":
        entry["answer"] = no_action
    return entry


def _plan(groups: Sequence[Sequence[Any]], match: Match) -> list[Any]:
    if match in ("exact", "in_order"):
        return [
            step for group in groups for step in ([{"any_order": list(group)}] if len(group) > 1 else group)
        ]
    steps = [step for group in groups for step in group]
    if match == "subset":
        return [{"any_order": [{"optional": step} for step in steps]}] if steps else []
    return steps if len(steps) < 2 else [{"any_order": steps}]
