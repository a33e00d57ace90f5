"""`pathrig tasks learn`: automata from the accepted episodes of a log."""

from __future__ import annotations

import json as text
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from core_eval.cli.output import Json, UsageError, console, print_json, replaced_file
from core_eval.learn.judging import Judged, leave_one_out
from core_eval.learn.merging import LearnedTask, learn
from core_eval.log import CHARGED, EpisodeRow, LogError, LogReader, charged, logged_calls
from core_eval.path.calls import Call
from core_eval.report.tables.fitted_table import Hanging, Table
from core_eval.report.tables.scorings import notes
from core_eval.statistics.intervals import wilson
from devices.registry import PluginError, device_type
from devices.tool import Effect

OUTCOMES = ("reward", "goal_met", "final_state_ok")
"""What tells that an episode is accepted: the first that it has, at least 1."""
LEAST = 5
LEVEL = 0.95
DONE, NOTHING = 0, 1
"""Exit statuses."""


@dataclass
class TaskTraces:
    """The traces of a task in a log."""

    accepted: list[list[Call]] = field(default_factory=list)
    rejected: list[list[Call]] = field(default_factory=list)
    reads: frozenset[str] = frozenset()


def learn_tasks(
    db: Annotated[Path, typer.Argument(help="The log.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the automata to this file, for score --tasks.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="The metric that accepts an episode at 1 or more; default: the first that it has of "
            f"{', '.join(OUTCOMES)}."
        ),
    ] = None,
    reads: Annotated[
        list[str] | None, typer.Option(help="A tool that only reads, beside those of the rig's device. *")
    ] = None,
    least: Annotated[int, typer.Option(min=2, help="Learn of tasks with so many accepted episodes.")] = LEAST,
    seed: Annotated[int, typer.Option(help="Seed of the planted mistakes.")] = 0,
    json: Json = False,
) -> int:
    """Learn automata from a log's accepted episodes. Exit with 1 if no task has enough.

    Each episode is judged by what is learned from the others: the shares of accepted ones that are judged
    wrong, of planted mistakes that are not, and of rejected ones that are not, are printed.
    """
    known = traces_of(db, by, frozenset(reads or ()))
    learned: dict[str, LearnedTask] = {}
    judged: dict[str, Judged] = {}
    for task, traces in sorted(known.items()):
        if len(traces.accepted) >= least:
            learned[task] = learn(traces.accepted, traces.rejected, reads=traces.reads)
            judged[task] = leave_one_out(traces.accepted, traces.rejected, reads=traces.reads, seed=seed)
    if out is not None and learned:
        automata = {task: text.loads(one.automaton.to_json()) for task, one in learned.items()}
        with replaced_file(out, "--out", inputs=[db]) as file:
            file.write(text.dumps({"automata": automata}) + "\n")
    total = Judged()
    for one in judged.values():
        total += one
    if json:
        tasks = {task: _as_json(one, judged[task]) for task, one in learned.items()}
        print_json({"tasks": tasks, "total": total.as_json()})
    else:
        _print(known, learned, judged, total, least)
    return DONE if learned else NOTHING


def traces_of(db: Path, by: str | None, reads: frozenset[str]) -> dict[str, TaskTraces]:
    """Return the ended episodes of a log by task, as far as it is known which are accepted.

    Args:
        db: the log.
        by: the metric that tells it; None: the first of `OUTCOMES` that an episode has.
        reads: tools that only read, beside those of the devices.

    Raises:
        UsageError: it is known of none.
    """
    known: dict[str, TaskTraces] = defaultdict(TaskTraces)
    damaged: list[tuple[int, str | None]] = []
    with LogReader(db) as reader:
        for episode_id in reader.episode_ids():
            try:
                episode = reader.episode(episode_id)
                is_accepted = _is_accepted(episode, by)
                if is_accepted is None:
                    continue
                traces = known[episode.task]
                calls = logged_calls(reader.steps(episode_id))
                traces.reads |= (
                    reads | _reads_of(episode.device) | {call.name for call in calls if call.reads}
                )
                (traces.accepted if is_accepted else traces.rejected).append(calls)
            except LogError as error:
                damaged.append((episode_id, str(error)))
    for line in notes(damaged):
        print(f"{line}; left out", file=sys.stderr)
    if not known:
        named = by or " or ".join(OUTCOMES)
        raise UsageError(f"{db}: no ended episode has {named}: name another metric with --by")
    return known


def _is_accepted(episode: EpisodeRow, by: str | None) -> bool | None:
    """Return whether an episode did its task, without harm; None where that is not known."""
    scores: Mapping[str, float | None] = {"reward": episode.reward, **episode.scores}
    given = [scores[name] for name in ((by,) if by else OUTCOMES) if scores.get(name) is not None]
    if episode.status == "running" or not given or given[0] is None:
        return None
    harm = charged(scores)
    if harm is None and CHARGED in scores:
        return None
    return given[0] >= 1 and not harm


def _reads_of(device: str) -> frozenset[str]:
    try:
        tools = device_type(device).tools
    except PluginError:
        return frozenset()
    return frozenset(tool.name for tool in tools if tool.effect is Effect.READ)


def _as_json(learned: LearnedTask, judged: Judged) -> dict[str, Any]:
    return {
        "automaton": text.loads(learned.automaton.to_json()),
        "edges": {"seen": learned.seen, "generalised": [list(edge) for edge in learned.generalised]},
        "generalised_symbols": list(learned.symbols),
        "taken_back": learned.taken_back,
        "conflicts": list(learned.conflicts),
        "left_out": judged.as_json(),
    }


def _print(
    known: Mapping[str, TaskTraces],
    learned: Mapping[str, LearnedTask],
    judged: Mapping[str, Judged],
    total: Judged,
    least: int,
) -> None:
    out = console()
    numbers = (
        "accepted",
        "rejected",
        "states",
        "edges",
        "generalised",
        "false harm",
        "false accept",
        "missed",
    )
    table = Table("task", *numbers, numbers=numbers)
    for task, one in learned.items():
        found = judged[task]
        table.add_row(
            task,
            *map(str, (len(known[task].accepted), len(known[task].rejected), len(one.automaton.states))),
            *map(str, (one.seen, len(one.generalised))),
            f"{found.harmed}/{found.accepted}",
            f"{found.passed.total()}/{found.planted.total()}",
            f"{found.missed}/{found.rejected}",
        )
    if learned:
        out.print(table)
    for task, one in learned.items():
        for line in _remarks(task, one):
            out.print(Hanging(Text(line, style="yellow")))
    few = [task for task in known if task not in learned]
    if few:
        out.print(
            Hanging(Text(f"{len(few)} tasks have fewer than {least} accepted episodes: {', '.join(few[:5])}"))
        )
    if learned:
        out.print(f"accepted, judged wrong (false harm): {_share(total.harmed, total.accepted)}")
        out.print(f"  of those unlike all others: {_share(total.new_harmed, total.new)}")
        kinds = ", ".join(f"{kind} {total.passed[kind]}/{n}" for kind, n in sorted(total.planted.items()))
        passed = _share(total.passed.total(), total.planted.total())
        out.print(Hanging(Text(f"planted mistakes, judged right (false accept): {passed}: {kinds}")))
        out.print(f"rejected, judged right (missed): {_share(total.missed, total.rejected)}")


def _remarks(task: str, learned: LearnedTask) -> Sequence[str]:
    found = []
    if learned.conflicts:
        found.append(f"{task}: {len(learned.conflicts)} rejected episodes went the way of an accepted one")
    if learned.taken_back:
        found.append(f"{task}: rejected episodes took back {learned.taken_back} generalised edges")
    if not learned.is_whole:
        found.append(f"{task}: too many orders to generalise; only what was seen is kept")
    return found


def _share(part: int, of: int) -> str:
    if not of:
        return "none"
    low, high = wilson(part / of, of, LEVEL)
    return f"{part} of {of}, {part / of:.3f} ({low:.3f} to {high:.3f})"
