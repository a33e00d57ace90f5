"""`pathrig rules review`: asks about the rules of a file one by one, and keeps each answer in it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import click
import typer
from rich.text import Text

from configs.errors import ConfigError
from configs.suites import read_suite
from configs.task import Task
from configs.yaml_file import load_yaml
from core_eval.cli.output import UsageError, console, print_faults, write_file
from core_eval.report.tables.fitted_table import Hanging
from core_eval.rules.draft import Checks, as_yaml, read_edited
from core_eval.rules.review import with_review, with_rule
from core_eval.rules.rule_file import Review, Rule, RuleFile
from core_eval.text.foreign_text import STDIN, ForeignTextError, read_text

TasksOption = Annotated[
    list[str] | None,
    typer.Option(help="Tasks whose golden paths the rules must allow: a file, a folder, a world, core. *"),
]
ALL, SOME_WAIT = 0, 1
"""Exit statuses."""
_ANSWERS: Mapping[str, Review] = {"a": "approved", "r": "rejected"}


def review(
    file: Annotated[Path, typer.Argument(help="A rule file, YAML; each answer is kept in it at once.")],
    prompt: Annotated[
        Path | None,
        typer.Option(help="The instructions: an edited rule's sentence must stand in this text file."),
    ] = None,
    tasks: TasksOption = None,
    again: Annotated[bool, typer.Option("--again", help="Ask about reviewed rules too.")] = False,
    answers: Annotated[
        Path | None,
        typer.Option(help="Answers, a letter a line, in place of a terminal's; - is standard input."),
    ] = None,
) -> int:
    """Approve, edit or reject the rules of a file one by one. Exit with 1 if some wait.

    Asked are those that were drafted, and those without `review`. A later call goes on where this one ended.
    """
    if answers is None and not sys.stdin.isatty():
        raise UsageError("standard input is no terminal: review at one, or give --answers FILE")
    checks = Checks(None if prompt is None else _read(prompt), tasks_of(tasks))
    lines = iter(() if answers is None else _read(answers).splitlines(keepends=True))
    return ask(file, checks, sys.stdin.readline if answers is None else lambda: next(lines, ""), again=again)


def tasks_of(suites: Sequence[str] | None) -> list[Task]:
    """Return the tasks that are named; print the faults of malformed ones."""
    found = [read_suite(one) for one in suites or ()]
    for file in found:
        print_faults(file.malformed)
    return [task for file in found for task in file.tasks]


def ask(file: Path, checks: Checks, readline: Callable[[], str], *, again: bool = False) -> int:
    """Ask about each rule that is not reviewed, and print how many are; return the exit status.

    Args:
        file: the rule file.
        checks: what an edited rule is held against.
        readline: returns the next answer; an empty text ends the review.
        again: ask about reviewed rules too.

    Raises:
        ConfigError: the file cannot be read, or a key of it is wrong.
        UsageError: a rule cannot be changed where it stands, or the file cannot be written.
    """
    rules = _Rules(file)
    asked = [place for place, rule in enumerate(rules.rules) if again or not _is_reviewed(rule)]
    for number, place in enumerate(asked, 1):
        print(f"\n{number} of {len(asked)}")
        if not _is_answered(rules, place, checks, readline):
            print()
            break
    waiting = sum(not _is_reviewed(rule) for rule in rules.rules)
    counts = Counter(rule.review for rule in rules.rules)
    parts = [f"{counts[state]} {state}" for state in get_args(Review)[1:]]
    console().print(f"{file}: {', '.join(parts)}, {waiting} not reviewed", highlight=False, soft_wrap=True)
    return SOME_WAIT if waiting else ALL


def _is_reviewed(rule: Rule) -> bool:
    return rule.review in _ANSWERS.values()


def _is_answered(rules: _Rules, place: int, checks: Checks, readline: Callable[[], str]) -> bool:
    """Ask about one rule until it is settled or skipped; return whether to go on with the next."""
    while True:
        rule = rules.rules[place]
        print(as_yaml(rule), end="")
        for fault in checks.faults(rule):
            console().print(Hanging(Text(fault, style="yellow")))
        print("(a)pprove, (e)dit, (r)eject, (s)kip or (q)uit? ", end="", flush=True)
        line = readline()
        answer = line.strip().lower()[:1]
        if answer in _ANSWERS:
            rules.settle(place, _ANSWERS[answer])
        elif answer == "e":
            try:
                edited = _edited(rule, checks)
                if edited is not None:
                    rules.replace(place, edited)
            except (ValueError, ConfigError) as error:
                print(f"not taken: {error}")
        if answer == "q" or not line:
            return False
        if answer == "s" or answer in _ANSWERS:
            return True


def _edited(rule: Rule, checks: Checks) -> Mapping[str, Any] | None:
    """Return a rule as a person edits it; None where it stays.

    Raises:
        ValueError: it does not hold.
    """
    text = click.edit(as_yaml(rule), extension=".yaml")
    if text is None:
        return None
    changed = checks.draft(read_edited(text))
    if not changed.holds:
        raise ValueError("; ".join(changed.faults))
    return changed.written


class _Rules:
    """The rules of a file, which is written at each change."""

    def __init__(self, file: Path) -> None:
        if file == STDIN:
            raise UsageError("name a file: the answers are kept in it")
        self._file = file
        self._text = _read(file)
        self.rules: tuple[Rule, ...] = ()
        self._load(self._text)

    def _load(self, text: str) -> None:
        self.rules = load_yaml(self._file, text).validate(RuleFile).rules

    def settle(self, place: int, state: Review) -> None:
        """Keep what the review of a rule said."""
        try:
            self._write(with_review(self._text, place, state))
        except ValueError as error:
            raise UsageError(f"{self._file}: {error}") from None

    def replace(self, place: int, rule: Mapping[str, Any]) -> None:
        """Put another rule in one's place."""
        self._write(with_rule(self._text, place, rule))

    def _write(self, text: str) -> None:
        if _read(self._file) != self._text:
            raise UsageError(f"{self._file}: was changed by another program; start the review again")
        self._load(text)
        write_file(self._file, "FILE", text)
        self._text = text


def _read(file: Path) -> str:
    try:
        return read_text(file)
    except ForeignTextError as error:
        raise UsageError(f"{file}: {error}") from None
