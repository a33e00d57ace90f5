"""`pathrig rules`: drafts rules from a prompt by a model, and holds rules against golden paths."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import click
import typer
from rich.text import Text

from configs.suites import read_suite
from configs.task import Task
from core_eval.cli.output import Json, UsageError, console, print_faults, print_json, replaced_file
from core_eval.cli.programs import AllowPrograms
from core_eval.report.tables.fitted_table import Hanging
from core_eval.rules.draft import (
    Checks,
    Draft,
    Drafts,
    as_yaml,
    backend_of,
    draft_rules,
    read_edited,
    rule_file,
)
from core_eval.rules.rule_file import Rule, load_rules
from core_eval.text.foreign_text import ForeignTextError, read_text
from core_eval.text.visible_text import visible

app = typer.Typer(help="Draft rules from a prompt by a model, and check them.", no_args_is_help=True)
TasksOption = Annotated[
    list[str] | None,
    typer.Option(help="Tasks whose golden paths the rules must allow: a file, a folder, a world, core. *"),
]
KEPT, NONE_KEPT = 0, 1
"""Exit statuses."""


@app.command("draft")
def draft(
    prompt: Annotated[Path, typer.Argument(help="The instructions, a text file; - is standard input.")],
    agent: Annotated[str, typer.Option(help="The model that drafts, as in `run --agent`.")],
    tasks: TasksOption = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Write the approved rules to this file.")] = Path(
        "rules.yaml"
    ),
    yes: Annotated[bool, typer.Option("--yes", help="Approve all that hold, unasked.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the first draft; the second has the next.")] = 0,
    tokens: Annotated[int, typer.Option(min=1, help="Maximum length of an answer.")] = 4096,
    seconds: Annotated[float, typer.Option(min=1.0, help="Maximum time of an answer, s.")] = 300.0,
    json: Json = False,
    allow_programs: AllowPrograms = False,
) -> int:
    """Draft rules from a prompt by a model. Exit with 1 if none is written.

    Drafted twice. A rule is dropped if its sentence does not stand in the prompt, or a golden path breaks it.
    The others are approved, edited or rejected one by one.
    """
    try:
        text = read_text(prompt)
    except ForeignTextError as error:
        raise UsageError(f"{prompt}: {error}") from None
    if json and not yes:
        raise UsageError("--json asks nothing: give --yes too")
    checks = Checks(text, _tasks(tasks))
    backend = backend_of(agent)
    try:
        drafts = draft_rules(backend, text, checks, seed=seed, tokens=tokens, seconds=seconds)
    finally:
        backend.close()
    if not json:
        _print(drafts)
    kept = [one.rule for one in drafts.kept if one.rule] if yes else list(_approved(drafts.kept, checks))
    if kept:
        with replaced_file(out, "--out", inputs=[prompt]) as file:
            file.write(as_yaml(*rule_file(kept).rules))
    if json:
        print_json(_as_json(drafts))
    else:
        console().print(f"{len(kept)} rules in {out}" if kept else "no rule is written")
    return KEPT if kept else NONE_KEPT


@app.command("check")
def check(
    file: Annotated[Path, typer.Argument(help="A rule file, YAML.")],
    tasks: TasksOption = None,
) -> int:
    """Hold a rule file against golden paths. Exit with 1 if one breaks a rule, or no task has its tools."""
    rules, checks = load_rules(file).rules, Checks("", _tasks(tasks))
    broken = 0
    for rule in rules:
        for fault in checks.faults(rule):
            broken += 1
            console().print(Hanging(Text(f"{rule.id}: {fault}", style="yellow")))
    console().print(f"{len(rules)} rules, {broken} faults")
    return NONE_KEPT if broken else KEPT


def _tasks(suites: Sequence[str] | None) -> list[Task]:
    found = [read_suite(one) for one in suites or ()]
    for file in found:
        print_faults(file.malformed)
    return [task for file in found for task in file.tasks]


def _print(drafts: Drafts) -> None:
    out = console()
    for fault in drafts.unread:
        out.print(Hanging(Text(fault, style="yellow")))
    for one in drafts.found:
        if not one.holds:
            name = visible(str(one.written.get("id", "a rule without an id")))
            out.print(Hanging(Text(f"dropped {name}: {'; '.join(one.faults)}", style="yellow")))
    both, of = drafts.overlap
    out.print(
        f"drafts with {' and '.join(map(str, drafts.counts))} rules that hold; {both} of {of} are in both"
    )
    for sentence in drafts.judgement:
        out.print(Hanging(Text(f"left to judgement: {sentence}")))


def _as_json(drafts: Drafts) -> dict[str, object]:
    both, of = drafts.overlap
    return {
        "rules": [
            one.rule.model_dump(mode="json", exclude_defaults=True, by_alias=True)
            for one in drafts.kept
            if one.rule
        ],
        "dropped": [
            {"written": dict(one.written), "faults": one.faults} for one in drafts.found if not one.holds
        ],
        "overlap": {"in_both": both, "of": of, "drafts": drafts.counts},
        "judgement": drafts.judgement,
        "unread": drafts.unread,
    }


def _approved(drafts: Sequence[Draft], checks: Checks) -> Iterator[Rule]:
    """Ask for each rule whether it is approved, edited or rejected; an end of input rejects the rest."""
    for number, one in enumerate(drafts, 1):
        shown = one
        while True:
            print(f"\n{number} of {len(drafts)}, in {one.times} of the drafts:\n{shown.as_yaml()}", end="")
            print("(a)pprove, (e)dit, (r)eject or (q)uit? ", end="", flush=True)
            line = sys.stdin.readline()
            answer = line.strip().lower()[:1]
            if answer == "a" and shown.rule is not None:
                yield shown.rule
            elif answer == "e":
                shown = _edited(shown, checks)
                continue
            elif answer == "q" or not line:
                print()
                return
            elif answer != "r":
                continue
            break


def _edited(one: Draft, checks: Checks) -> Draft:
    """Return a rule as a person edits it, or as it was where that does not hold."""
    text = click.edit(one.as_yaml(), extension=".yaml")
    if text is None:
        return one
    try:
        changed = checks.draft(read_edited(text))
    except ValueError as error:
        print(f"not taken: {error}")
        return one
    if not changed.holds:
        print(f"not taken: {'; '.join(changed.faults)}")
        return one
    return changed
