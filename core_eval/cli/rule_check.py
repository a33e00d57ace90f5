"""`pathrig score --rules`: holds traces or a log against a rule file."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from core_eval.cli.output import console, print_json
from core_eval.log import LogError, LogReader
from core_eval.report.tables.rules import rule_tables
from core_eval.report.tables.scorings import notes
from core_eval.rules.calls import in_groups
from core_eval.rules.episode import logged_calls, told_at_first
from core_eval.rules.grounds import Told
from core_eval.rules.monitor import violations
from core_eval.rules.rule_file import RuleFile
from core_eval.rules.tally import RuleTally
from core_eval.traces.trace_file import BadTrace, read_traces

ALL, NOT_ALL = 0, 1
"""Exit statuses."""


def check_traces(file: RuleFile, lines: Iterable[bytes], name: str, *, as_json: bool) -> int:
    """Print how the traces in these lines violate the rules; return the exit status."""
    tally = RuleTally(file.rules)
    for trace in read_traces(lines, file=name):
        if isinstance(trace, BadTrace):
            tally.unread += 1
            print(f"pathrig: {trace.error}", file=sys.stderr)
        else:
            told = Told(trace.prompt, trace.tools)
            tally.add(trace.id, violations(file.rules, in_groups(trace.calls), told), told)
    return _finish(tally, as_json=as_json)


def check_log(file: RuleFile, db: Path, *, as_json: bool) -> int:
    """Print how the episodes of a log that have ended violate the rules; return the exit status."""
    tally = RuleTally(file.rules)
    damaged: list[tuple[int, str | None]] = []
    with LogReader(db) as reader:
        for episode_id in reader.episode_ids():
            try:
                episode = reader.episode(episode_id)
                if episode.status != "running":
                    told = told_at_first(reader, episode)
                    calls = logged_calls(reader, episode, file.rules)
                    tally.add(episode_id, violations(file.rules, calls, told), told)
            except LogError as error:
                damaged.append((episode_id, str(error)))
    tally.unread = len(damaged)
    for line in notes(damaged):
        print(f"{line}; left out", file=sys.stderr)
    return _finish(tally, as_json=as_json)


def _finish(tally: RuleTally, *, as_json: bool) -> int:
    if as_json:
        print_json(tally.as_json())
    else:
        out = console()
        for part in rule_tables(tally):
            out.print(part)
    return NOT_ALL if tally.unread else ALL
