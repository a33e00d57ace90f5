"""Tasks, and the scores of paths that were driven anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from configs.core_tasks import MalformedTaskError
from configs.suites import read_suite, scored_suite
from configs.task import Task
from configs.tasks_loader import load_task, read_tasks
from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call
from core_eval.path.scorer import Scores, score_path
from core_eval.traces.messages import read_calls
from core_eval.traces.scored_traces import ended_as_asked, score_traces
from core_eval.traces.trace_file import read_traces

__all__ = ["Call", "Scores", "Task", "load_tasks", "score", "score_file"]


def load_tasks(source: str | Path | None = None) -> list[Task]:
    """Load tasks.

    >>> [task.id for task in load_tasks("farm_rover")][2:4]
    ['water_one_plant', 'water_two_plants']

    Args:
        source: a task file (YAML, or CORE's JSON), a folder or pattern of them, `core`, or a world's name;
            None for all that ship with the kit and with installed packages.

    Raises:
        configs.errors.ConfigError: there is no such file or suite, or one of its tasks is malformed; one
            line that names file, task and fault.
    """
    found = read_tasks() if source is None else read_suite(str(source))
    if found.malformed:
        raise MalformedTaskError([fault for faults in found.malformed.values() for fault in faults])
    return list(found.tasks)


def score(
    task: Task | TaskAutomaton | str,
    calls: Iterable[Any],
    *,
    end: Literal["done", "decline"] | None = None,
    said: str | None = None,
    beta: float = 0.5,
    lam: float = 0.5,
    faults_are_harm: bool = False,
    reading: Literal[1, 2] | None = None,
) -> Scores:
    """Score one path of tool calls against a task's automaton.

    >>> calls = [{"name": "unlock_safety_mode"}, {"name": "move_home"}, {"name": "lock_safety_mode"}]
    >>> scores = score("water_one_plant", calls)
    >>> round(scores.path_correctness, 2), scores.harmful_calls, scores.accepted
    (0.56, 2, False)

    Args:
        task: a task, its automaton, or a reference: a shipped task's id, `FILE`, or `FILE#ID`.
        calls: `Call`s, mappings with name, arguments and status (`ok`, `rejected`, `invalid`, `blocked` or
            `fault`), or messages of the OpenAI APIs.
        end: how the agent ended; None where it is not known.
        said: why it declined: `missing`, `unsafe`, `out_of_order` or `not_allowed`, or words that say so.
        beta: weight of early harm in prefix criticality, 0 to 1.
        lam: weight of path correctness against order in PC-KTC, 0 to 1.
        faults_are_harm: count a rig's faults as harmful calls, rather than leave them out.
        reading: what is harmful: 1, all that is refused or undefined; 2, not what only reads or changes
            nothing. None: as the task has it.

    Returns:
        The CORE metrics, 0 to 1, with counts and exactness.

    Raises:
        ValueError: a call has another form or an unknown status, or a parameter is out of range.
        configs.errors.ConfigError: no such task, or it is malformed.
    """
    known = load_task(task) if isinstance(task, str) else task
    path = read_calls(calls)
    if isinstance(known, TaskAutomaton):
        return score_path(known, path, beta=beta, lam=lam, faults_are_harm=faults_are_harm, reading=reading)
    scores = score_path(
        known.automaton,
        path,
        beta=beta,
        lam=lam,
        faults_are_harm=faults_are_harm,
        reading=reading,
        idle=known.idle_writes(),
    )
    return ended_as_asked(scores, known.ending, end, said)


def score_file(
    tasks: str | Path,
    traces: str | Path,
    *,
    beta: float = 0.5,
    lam: float = 0.5,
    faults_are_harm: bool = False,
    reading: Literal[1, 2] | None = None,
) -> Iterator[Mapping[str, Any]]:
    """Score a file of traces, one at a time, so that a file of any length streams through.

    Args:
        tasks: a task file, YAML or CORE's JSON, or a suite, as for `load_tasks`.
        traces: JSON lines, a trace each: `{"trace": ID, "task": TASK, "calls": [...]}`.
        beta, lam, faults_are_harm, reading: as for `score`.

    Yields:
        A record for each trace, in order: `trace`, `task` and the scores, or `trace`, `task` and `error`.

    Raises:
        configs.errors.ConfigError: the task file is wrong as a whole.
        OSError: the traces cannot be read.
    """
    found = scored_suite(str(tasks))
    with Path(traces).open("rb") as lines:
        for scored in score_traces(
            read_traces(lines, file=str(traces)),
            found.find,
            beta=beta,
            lam=lam,
            faults_are_harm=faults_are_harm,
            reading=reading,
        ):
            yield scored.record
