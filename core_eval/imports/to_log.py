"""Imported traces as episodes of a log."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, get_args

from configs.tasks_loader import ScoredTasks
from core_eval.imports.fields import RecordError
from core_eval.imports.record import ImportedTrace, MadeCall, Message
from core_eval.log import (
    ENDED_BY_AGENT,
    NO_AUTOMATON,
    Definition,
    EpisodeStart,
    EpisodeStatus,
    MessageRow,
    PromptRow,
    RunLog,
    StepRow,
    Turn,
)
from core_eval.log.columns import ColumnError, read_value
from core_eval.log.whole_episode import WholeEpisode, add_episode
from core_eval.path.automaton import AutomatonError, TaskAutomaton
from core_eval.path.endings import Answer, AskedEnding, DeclineReason
from core_eval.path.scorer import OnlineScorer, ScoredTask
from core_eval.text.json_text import as_logged, to_json

IMPORTED = "imported"
"""The rig and the device of an episode whose file names none."""
UNKNOWN = "unknown"
"""The agent of a trace whose file names none."""


def task_of(trace: ImportedTrace, tasks: ScoredTasks | None) -> tuple[str, ScoredTask] | None:
    """Return the id of a trace's task among some tasks, and the task; None where it is none of them.

    An id may differ by an s, as `transaction_3` from `transactions_3`, where only one task is so called.
    """
    if tasks is None or trace.task is None:
        return None
    try:
        return trace.task, tasks.find(trace.task)
    except LookupError:
        alike = [one for one in tasks.tasks if _singular(one) == _singular(trace.task)]
        return (alike[0], tasks.tasks[alike[0]]) if len(alike) == 1 else None


def add_trace(
    log: RunLog,
    run_id: int,
    trace: ImportedTrace,
    source: Mapping[str, Any],
    tasks: ScoredTasks | None,
    at: float,
) -> int:
    """Add a trace to a run of a log; return the id of its episode.

    Args:
        log: the log.
        run_id: the run.
        trace: the trace.
        source: its `file` and `format`, for the log.
        tasks: the tasks by which it is scored; None: by none.
        at: the time of the import, UTC epoch, s, for a trace that has no times of its own.

    Raises:
        RecordError: it holds what no log takes.
    """
    ident, known = task_of(trace, tasks) or (None, _logged_task(trace))
    timed = trace.started is not None
    started = at if trace.started is None else trace.started
    status = _status(trace)
    imported = {**source, "record": trace.number, "id": trace.id, "timed": timed}
    if trace.domain is not None:
        imported["domain"] = trace.domain
    start = EpisodeStart(
        number=trace.number - 1,
        task=ident or trace.task or str(source["file"]),
        world=None,
        rig=_text(trace.logged.get("rig")) or IMPORTED,
        device=_text(trace.logged.get("device")) or IMPORTED,
        agent=trace.agent or UNKNOWN,
        scaffold=_text(trace.logged.get("scaffold")) or IMPORTED,
        seed=0 if trace.seed is None or abs(trace.seed) >= 2**63 else trace.seed,
        definition=_definition(trace, known),
        init={},
        limits={},
        guard="observe",
        scoring=_scoring(trace),
        agent_info={"name": trace.agent or UNKNOWN},
        imported=imported,
        reward=trace.reward,
    )
    whole = WholeEpisode(
        start,
        started,
        status,
        list(_steps(trace, known, started, start.scoring)),
        dict(_turns(trace)),
        list(_messages(trace)),
        _prompt(trace),
        ended=trace.ended,
        seconds=trace.seconds if trace.seconds is None or trace.seconds >= 0 else None,
        stop_reason=trace.end,
        error=trace.failure,
        said=trace.said,
    )
    try:
        return add_episode(log, run_id, whole)
    except (sqlite3.IntegrityError, OverflowError) as error:
        raise RecordError(f"the log takes no such value: {error}") from None


def _singular(name: str) -> str:
    return "_".join(part.removesuffix("s") for part in name.split("_"))


def _logged_task(trace: ImportedTrace) -> ScoredTask | None:
    """Return the task that an exported episode of this kit has with it."""
    written = trace.logged.get("definition")
    if not isinstance(written, Mapping):
        return None
    try:
        automaton = TaskAutomaton.from_json(str(written["automaton"]))
    except AutomatonError as error:
        raise RecordError(f"'episode.definition.automaton': {error}") from None
    answer, decline = written.get("answer"), written.get("decline")
    asked = AskedEnding(
        answer if answer in get_args(Answer) else None,
        decline if decline in get_args(DeclineReason) else None,
    )
    return ScoredTask(automaton, asked)


def _definition(trace: ImportedTrace, known: ScoredTask | None) -> Definition:
    asked = (None if known is None else known.ending) or AskedEnding()
    return Definition(
        trace.prompt,
        NO_AUTOMATON if known is None else known.automaton.to_json(),
        None,
        [tool.function() for tool in trace.tools],
        None,
        asked.answer,
        decline=asked.decline,
        gold=None if trace.gold is None else asdict(trace.gold),
    )


def _scoring(trace: ImportedTrace) -> Mapping[str, Any]:
    written = trace.logged.get("scoring") or {}
    try:
        read_value("episode", "scoring", to_json(written))
    except ColumnError as error:
        raise RecordError(f"'episode.scoring': {error}") from None
    return dict(written)


def _status(trace: ImportedTrace) -> EpisodeStatus:
    if trace.failure is not None:
        return "error"
    return "completed" if trace.end is None or trace.end in ENDED_BY_AGENT else "stopped"


def _steps(
    trace: ImportedTrace, known: ScoredTask | None, started: float, scoring: Mapping[str, Any]
) -> Iterator[StepRow]:
    scorer = None if known is None else OnlineScorer(known.automaton, **scoring, idle=known.idle)
    for k, made in enumerate(trace.calls):
        step = StepRow(
            id=0,
            k=k,
            tool=made.name,
            arguments=None if made.name is None else made.arguments,
            status=made.status,
            t_intent=started if made.t_start is None else made.t_start,
            t_result=made.t_end,
            result=made.result,
            error_message=made.error,
            call_id=made.id,
            status_from=made.status_from,
            call_group=made.group,
        )
        yield step if scorer is None else _judged(step, made, scorer)


def _judged(step: StepRow, made: MadeCall, scorer: OnlineScorer) -> StepRow:
    call = made.call()
    if call is None:
        return step
    verdict = scorer.step(replace(call, arguments=as_logged(dict(call.arguments))))
    return replace(step, **{name: getattr(verdict, name) for name in verdict.__slots__})


def _turns(trace: ImportedTrace) -> Iterator[tuple[int, Turn]]:
    """Yield what the agent said since the last step with each step; the costs, where all are known."""
    spoken = [message for message in trace.messages if message.role == "assistant"]
    priced = all(message.output_tokens is not None for message in spoken)
    timed = all(message.seconds is not None for message in spoken)
    waiting: list[Message] = []
    for message in spoken:
        waiting.append(message)
        if message.calls:
            yield message.calls[0], _turn(waiting, priced=priced, timed=timed)
            waiting = []
    if waiting:
        yield len(trace.calls), _turn(waiting, priced=priced, timed=timed)


def _turn(messages: Sequence[Message], *, priced: bool, timed: bool) -> Turn:
    return Turn(
        "\n\n".join(message.text for message in messages if message.text),
        sum(message.input_tokens or 0 for message in messages) if priced else 0,
        0,
        sum(message.output_tokens or 0 for message in messages) if priced else 0,
        sum(message.seconds or 0.0 for message in messages) if timed else 0.0,
    )


def _messages(trace: ImportedTrace) -> Iterator[MessageRow]:
    """Yield what user and agent said; steps have the answers of tools, the prompt what the system says."""
    following = len(trace.calls)
    firsts: list[int] = []
    for message in reversed(trace.messages):
        following = message.calls[0] if message.calls else following
        firsts.append(following)
    for n, (message, k) in enumerate(zip(trace.messages, reversed(firsts), strict=True)):
        if message.role in ("user", "assistant") and message.text:
            yield MessageRow(n, message.role, message.text, k)


def _prompt(trace: ImportedTrace) -> PromptRow | None:
    """Return what the agent was given before its first answer."""
    given = []
    for message in trace.messages:
        if message.role not in ("system", "user"):
            break
        given.append({"role": message.role, "content": message.text})
    tools = [tool.function() for tool in trace.tools]
    return PromptRow(given, tools) if given or tools else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
