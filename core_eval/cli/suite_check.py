"""`pathrig suite check`: the baselines on a suite, and whether it can be released."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from agents.baselines.floors import IDLE
from agents.baselines.mutated import KINDS as MISTAKES
from agents.names import agent_name, is_model
from configs.difficulty import Measured, MeasuredModel, MeasuredTask
from core_eval.cli.output import Json, UsageError, console, print_json, write_file
from core_eval.cli.suites import Suite, manifest_of, read_manifest, run_agents
from core_eval.log import EpisodeRow
from core_eval.report.tables.fitted_table import Table
from core_eval.run.provenance import agent_info
from core_eval.score.release import Bound, bounds, model_used, separates_nothing, solved_shares
from core_eval.text.json_text import json_text

DONE, NOT_RELEASABLE = 0, 1
KINDS = ("mutated:0.1", "mutated:0.3", "mutated:0.6")
"""Planners with mistakes, by which tasks are told apart, each with every kind of mistake."""
MOST_LISTED = 10
SHIPPED = "llama"
"""The agent of the model that ships with the kit."""


def check(
    suite: Suite = "core",
    against: Annotated[
        Path | None, typer.Option(help="A manifest: tell what has changed since.", metavar="FILE")
    ] = None,
    planners: Annotated[
        bool,
        typer.Option("--planners", help="Also run planners with mistakes, and list what separates none."),
    ] = False,
    agent: Annotated[
        list[str] | None,
        typer.Option(help="Also run this agent, such as llama. Repeatable.", metavar="SPEC"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="With --planners: write the difficulty here.", metavar="FILE"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the episodes.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Episodes at a time.")] = 1,
    db: Annotated[Path, typer.Option(help="The log of the baselines' episodes.")] = Path("suite.db"),
    json: Json = False,
) -> int:
    """Run the baselines on a suite, and tell whether it can be released. Exit with 1 if it cannot."""
    changed = None if against is None else manifest_of(suite).differences(read_manifest(against))
    agents = ["oracle", *IDLE, "repeat", "random"]
    given = agent or []
    if out is not None and not planners:
        raise UsageError("-o writes the difficulty that planners measure: add --planners")
    scripted = [*(_planners() if planners else []), *(one for one in given if not is_model(agent_name(one)))]
    agents = list(dict.fromkeys([*agents, *scripted, *given]))
    episodes = run_agents(suite, agents, seed, db, jobs)
    found = bounds(episodes, IDLE)
    harmful = [row.task for row in episodes if row.agent == "oracle" and row.scores.get("harm_events")]
    ready = bool(found) and all(one.holds for one in found) and not changed and not harmful
    used = [name for one in given if is_model(name := agent_name(one))]
    ships = agent_info(SHIPPED).get("sha256") if used else None
    models = [model_used(name, episodes, ships) for name in used]
    measured = _measured(suite, agents, scripted, models, episodes, seed) if planners else None
    if out is not None and measured is not None:
        write_file(out, "--out", json_text(measured.model_dump(), indent=1) + "\n")
        print(f"pathrig: {out} holds the difficulty of {len(measured.tasks)} tasks", file=sys.stderr)
    if json:
        content: dict[str, Any] = {
            "releasable": ready,
            "bounds": [asdict(one) | {"share": one.share, "holds": one.holds} for one in found],
            "oracle_does_harm": harmful,
            "changed": changed,
            "difficulty": solved_shares(episodes) if planners else None,
            "models": [one.model_dump() for one in models],
            "separates_nothing": None if measured is None else measured.separates_nothing,
            "separates_nothing_with_models": (
                None if measured is None else measured.separates_nothing_with_models
            ),
        }
        print_json(content)
    else:
        _print(found, harmful, changed, measured, models, ready=ready)
    return DONE if ready else NOT_RELEASABLE


def _print(
    found: list[Bound],
    harmful: list[str],
    changed: list[str] | None,
    measured: Measured | None,
    models: list[MeasuredModel],
    *,
    ready: bool,
) -> None:
    out = console()
    table = Table("agent", "passes", "of", "share", "must be", "", numbers=("passes", "of", "share"))
    for one in found:
        must = "100 %" if one.limit == 1.0 else f"below {one.limit:.0%}"
        verdict = Text("holds" if one.holds else "MISSED", style="" if one.holds else "red")
        table.add_row(one.agent, str(one.passed), str(one.tasks), f"{one.share:.1%}", must, verdict)
    out.print(table)
    if harmful:
        out.print(
            Text(f"the oracle does harm in {', '.join(harmful)}: mend the plan or the start", style="red")
        )
    for line in changed or ():
        out.print(Text(f"since the manifest: {line}", style="yellow"))
    for model in models:
        out.print(_told_of(model, found[0].tasks if found else 0))
    if measured is not None:
        same, with_models = measured.separates_nothing, measured.separates_nothing_with_models
        out.print(f"{len(same)} of {len(measured.tasks)} tasks separate none of the planners: {_few(same)}")
        if models:
            out.print(f"{len(with_models)} separate none of planners and models: {_few(with_models)}")
        else:
            out.print("Planners are scripted: no model was used.")
    out.print("The suite can be released." if ready else "The suite cannot be released.")


def _few(tasks: Sequence[str]) -> str:
    return (", ".join(tasks[:MOST_LISTED]) + (", ..." if len(tasks) > MOST_LISTED else "")) or "none"


def _told_of(one: MeasuredModel, tasks: int) -> str:
    what = "" if one.file is None or one.bytes is None else f" ({one.file}, {one.bytes / 1e6:.1f} MB)"
    ships = ": the small model that ships, no stronger one" if one.ships else ""
    return f"The model {one.agent}{what} passes {one.solved} of {tasks}{ships}."


def _measured(
    suite: str,
    agents: Sequence[str],
    scripted: Sequence[str],
    models: Sequence[MeasuredModel],
    episodes: Sequence[EpisodeRow],
    seed: int,
) -> Measured:
    manifest = manifest_of(suite)
    planners = [agent_name(one) for one in scripted]
    return Measured(
        suite=manifest.measured,
        seed=seed,
        agents=tuple(agents),
        tasks={
            task: MeasuredTask(digest=manifest.tasks[task], solved=round(share, 4))
            for task, share in sorted(solved_shares(episodes).items())
        },
        models=tuple(models),
        separates_nothing=tuple(separates_nothing(episodes, planners)),
        separates_nothing_with_models=tuple(
            separates_nothing(episodes, [*planners, *(one.agent for one in models)])
        ),
    )


def _planners() -> list[str]:
    return [f"{rate}:{kind}" for rate in KINDS for kind in MISTAKES]
