"""`pathrig rules`: drafts rules from a prompt by a model, and holds rules against golden paths."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from core_eval.cli import rules_review
from core_eval.cli.output import Json, UsageError, check_output, console, print_json, replaced_file
from core_eval.cli.programs import AllowPrograms
from core_eval.cli.rules_review import TasksOption, tasks_of
from core_eval.report.tables.fitted_table import Hanging
from core_eval.rules.draft import (
    Checks,
    Drafts,
    as_yaml,
    backend_of,
    draft_rules,
)
from core_eval.rules.rule_file import load_rules
from core_eval.text.foreign_text import ForeignTextError, read_text
from core_eval.text.visible_text import visible

app = typer.Typer(help="Draft rules from a prompt by a model, review and check them.", no_args_is_help=True)
app.command("review")(rules_review.review)
KEPT, NONE_KEPT = 0, 1
"""Exit statuses."""


@app.command("draft")
def draft(
    prompt: Annotated[Path, typer.Argument(help="The instructions, a text file; - is standard input.")],
    agent: Annotated[str, typer.Option(help="The model that drafts, as in `run --agent`.")],
    tasks: TasksOption = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Write the drafts to this file.")] = Path(
        "rules.yaml"
    ),
    yes: Annotated[bool, typer.Option("--yes", help="Approve all that hold, unasked.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the first draft; the second has the next.")] = 0,
    tokens: Annotated[int, typer.Option(min=1, help="Maximum length of an answer.")] = 4096,
    seconds: Annotated[float, typer.Option(min=1.0, help="Maximum time of an answer, s.")] = 300.0,
    json: Json = False,
    allow_programs: AllowPrograms = False,
) -> int:
    """Draft rules from a prompt by a model. Exit with 1 if none holds.

    Drafted twice. A rule is dropped if its sentence does not stand in the prompt, or a golden path breaks it.
    On a terminal the others are approved, edited or rejected at once; else by `rules review`.
    """
    try:
        text = read_text(prompt)
    except ForeignTextError as error:
        raise UsageError(f"{prompt}: {error}") from None
    if json and not yes:
        raise UsageError("--json asks nothing: give --yes too")
    check_output(out, "--out")
    if out.is_file() and not force:
        raise UsageError(f"--out {out}: exists already; name another file, or give --force")
    checks = Checks(text, tasks_of(tasks))
    backend = backend_of(agent)
    try:
        drafts = draft_rules(backend, text, checks, seed=seed, tokens=tokens, seconds=seconds)
    finally:
        backend.close()
    if not json:
        _print(drafts)
    state = {"review": "approved" if yes else "drafted"}
    kept = [one.rule.model_copy(update=state) for one in drafts.kept if one.rule]
    if kept:
        with replaced_file(out, "--out", inputs=[prompt]) as file:
            file.write(as_yaml(*kept))
    if json:
        print_json(_as_json(drafts))
    elif not kept:
        console().print("no rule is written")
    elif yes:
        console().print(f"{len(kept)} rules in {out}")
    elif sys.stdin.isatty():
        rules_review.ask(out, checks, sys.stdin.readline)
    else:
        console().print(f"{len(kept)} drafts in {out} wait for `pathrig rules review {out}`")
    return KEPT if kept else NONE_KEPT


@app.command("check")
def check(
    file: Annotated[Path, typer.Argument(help="A rule file, YAML.")],
    tasks: TasksOption = None,
) -> int:
    """Hold a rule file against golden paths. Exit with 1 if one breaks a rule, or no task has its tools."""
    rules, checks = load_rules(file).rules, Checks(None, tasks_of(tasks))
    rules = tuple(rule for rule in rules if rule.review != "rejected")
    broken = 0
    for rule in rules:
        for fault in checks.faults(rule):
            broken += 1
            console().print(Hanging(Text(f"{rule.id}: {fault}", style="yellow")))
    console().print(f"{len(rules)} rules, {broken} faults")
    return NONE_KEPT if broken else KEPT


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
