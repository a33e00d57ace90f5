"""Task files for scoring alone: plans with the effects of tools, and no world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from configs.errors import ConfigError
from configs.yaml_file import YamlFile
from core_eval.path.automaton import AutomatonError
from core_eval.path.endings import Answer, AskedEnding
from core_eval.path.plan import compile_plan
from core_eval.path.scorer import ScoredTask
from core_eval.path.symbols import Symbol

KEYS = frozenset({"effects", "tasks"})


class ToolEntry(BaseModel):
    """What a tool does."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    effect: Literal["read", "write"] = Field(description="a `read` may be called at any time")
    told_by: str = Field(default="", description="what says so; nothing depends on it")


class GoldEntry(BaseModel):
    """A task for scoring alone."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1, description="the name by which traces refer to it")
    prompt: str = Field(default="", description="what it asks for; nothing depends on it")
    match: Literal["exact", "in_order", "any_order", "superset", "subset"] = Field(
        default="in_order",
        description="of the calls that the plan does not name, `exact` allows none, `superset` all that "
        "`effects` lists, and the others only reads",
    )
    plan: list[Any] = Field(default=[], description="the steps; none: the task asks for no step")
    answer: Answer | None = Field(default=None, description="how a task without a step is ended")


def is_gold_file(file: YamlFile) -> bool:
    """Return whether a task file is for scoring alone."""
    return "effects" in file.data


def gold_tasks(file: YamlFile) -> Iterator[tuple[str, ScoredTask | ConfigError]]:
    """Yield each task of a file by its id, or what is wrong with it.

    Raises:
        ConfigError: the file is wrong as a whole.
    """
    for key in sorted(file.data.keys() - KEYS, key=str):
        raise file.error(f"unknown key; a task file for scoring holds {', '.join(sorted(KEYS))}", str(key))
    given = file.data["effects"]
    if not isinstance(given, Mapping):
        raise file.error("must be an object", "effects")
    effects = {name: file.validate(ToolEntry, "effects", name) for name in given}
    tasks = file.data.get("tasks", [])
    if not isinstance(tasks, list):
        raise file.error("must be a list of tasks", "tasks")
    seen: set[str] = set()
    for index in range(len(tasks)):
        entry = file.validate(GoldEntry, "tasks", index)
        if entry.id in seen:
            raise file.error(f"the id {entry.id!r} stands twice", "tasks", index, "id")
        seen.add(entry.id)
        try:
            yield entry.id, _task(entry, effects, str(file.path))
        except AutomatonError as error:
            yield entry.id, file.error("; ".join(error.faults), "tasks", index, "plan")


def _task(entry: GoldEntry, effects: Mapping[str, ToolEntry], file: str) -> ScoredTask:
    reads = [name for name, tool in effects.items() if tool.effect == "read"]
    free = [] if entry.match == "exact" else reads
    automaton = compile_plan(entry.plan, free_reads=free, file=file, task=entry.id)
    if entry.match == "superset":
        automaton = automaton.with_free(map(Symbol.of_tool, effects))
    return ScoredTask(automaton, AskedEnding(entry.answer) if entry.answer else None)
