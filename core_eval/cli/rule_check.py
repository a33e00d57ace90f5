"""`pathrig score --rules`: holds traces or a log against a rule file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from core_eval.cli.file_parts import FilePart, parts_of_file
from core_eval.cli.output import console, print_json
from core_eval.cli.score_traces import opened
from core_eval.cli.workers import Workers, in_order
from core_eval.log import LogError, LogReader
from core_eval.report.tables.rules import rule_tables
from core_eval.report.tables.scorings import notes
from core_eval.rules.calls import Made, in_groups
from core_eval.rules.episode import logged_calls, told_at_first
from core_eval.rules.grounds import Told
from core_eval.rules.monitor import verdicts, violations
from core_eval.rules.rule_file import Rule
from core_eval.rules.tally import Checked, RuleTally
from core_eval.text.json_text import json_text
from core_eval.traces.trace_file import BadTrace, read_traces

ALL, NOT_ALL = 0, 1
"""Exit statuses."""


def checked(rules: Sequence[Rule], lines: Iterable[bytes], name: str, first: int = 1) -> Iterator[Checked]:
    """Hold the traces in these lines against rules; the first line has that number."""
    for trace in read_traces(lines, file=name, first=first):
        if isinstance(trace, BadTrace):
            yield Checked(fault=trace.error)
        else:
            told = Told(trace.prompt, trace.tools)
            found = violations(rules, in_groups(trace.calls), told)
            yield Checked.of(trace.id, found, told)


def _part(rules: Sequence[Rule], name: str, part: FilePart) -> list[Checked]:
    return list(checked(rules, part.lines(), name, part.first))


def check_traces(rules: Sequence[Rule], traces: Path, workers: Workers, *, as_json: bool) -> int:
    """Print how traces violate the rules; return the exit status."""
    if workers.several:
        found = parts_of_file(traces, carried=workers.elsewhere)
        parts = in_order(workers, partial(_part, rules, str(traces)), found)
        return _tallied(rules, chain.from_iterable(part for _, part in parts), as_json=as_json)
    with opened(traces) as lines:
        return _tallied(rules, checked(rules, lines, str(traces)), as_json=as_json)


def _tallied(rules: Sequence[Rule], found: Iterable[Checked], *, as_json: bool) -> int:
    tally = RuleTally(rules)
    for one in found:
        if one.fault is not None:
            tally.unread += 1
            print(f"pathrig: {one.fault}", file=sys.stderr)
        else:
            tally.add(one)
    return _finish(tally, as_json=as_json)


def check_log(rules: Sequence[Rule], db: Path, *, as_json: bool) -> int:
    """Print how the episodes of a log that have ended violate the rules; return the exit status."""
    tally = RuleTally(rules)
    for one in _ended(rules, db):
        if one is None:
            tally.unread += 1
        else:
            episode, calls, told = one
            found = violations(rules, calls, told)
            tally.add(Checked.of(episode, found, told))
    return _finish(tally, as_json=as_json)


_Course = tuple[str | int, Sequence[Made], Told]
"""A trace or episode, its calls, and what the agent was told before them."""


def _ended(rules: Sequence[Rule], db: Path) -> Iterator[_Course | None]:
    """Yield each episode of a log that has ended; None where it cannot be read, which is told at the end."""
    damaged: list[tuple[int, str | None]] = []
    with LogReader(db) as reader:
        for episode_id in reader.episode_ids():
            try:
                episode = reader.episode(episode_id)
                if episode.status == "running":
                    continue
                told = told_at_first(reader, episode)
                found = episode_id, list(logged_calls(reader, episode, rules)), told
            except LogError as error:
                damaged.append((episode_id, str(error)))
                yield None
            else:
                yield found
    for line in notes(damaged):
        print(f"{line}; left out", file=sys.stderr)


def _traces(traces: Path) -> Iterator[_Course | None]:
    with opened(traces) as lines:
        for trace in read_traces(lines, file=str(traces)):
            if isinstance(trace, BadTrace):
                print(f"pathrig: {trace.error}", file=sys.stderr)
                yield None
            else:
                yield trace.id, list(in_groups(trace.calls)), Told(trace.prompt, trace.tools)


def print_verdicts(rules: Sequence[Rule], traces: Path | None, db: Path | None) -> int:
    """Print the verdict on each rule after each call as JSON lines; return the exit status."""
    status = ALL
    for one in _traces(traces) if traces is not None else _ended(rules, db) if db is not None else ():
        if one is None:
            status = NOT_ALL
            continue
        trace, calls, told = one
        for k, (made, found) in enumerate(verdicts(rules, calls, told)):
            print(json_text({"trace": trace, "step": k, "tool": made.call.name, "verdicts": found}))
    return status


def _finish(tally: RuleTally, *, as_json: bool) -> int:
    if as_json:
        print_json(tally.as_json())
    else:
        out = console()
        for part in rule_tables(tally):
            out.print(part)
    return NOT_ALL if tally.unread else ALL
