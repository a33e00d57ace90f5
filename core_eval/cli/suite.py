"""`pathrig suite`: a suite as an artefact, and whether it measures."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Any

import typer
from rich.text import Text

from agents.baselines.floors import IDLE
from agents.baselines.mutated import KINDS as MISTAKES
from configs.errors import ConfigError
from configs.suite_manifest import CANARY, HeldOut, Manifest
from configs.suites import read_suite
from core_eval.cli.output import Json, UsageError, console, print_json, write_file
from core_eval.cli.progress import progress
from core_eval.cli.task_places import task_places
from core_eval.log import EpisodeRow, LogReader, RunLog
from core_eval.log.events import EpisodePlanned
from core_eval.report.tables.fitted_table import Table
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run
from core_eval.score.release import Bound, bounds, separates_nothing, solved_shares
from core_eval.text.foreign_json import ForeignJsonError, parse_json
from core_eval.text.json_text import json_text

app = typer.Typer(help="Build a suite's manifest, and check what it measures.", no_args_is_help=True)
DONE, NOT_RELEASABLE = 0, 1
KINDS = ("mutated:0.1", "mutated:0.3", "mutated:0.6")
"""Planners with mistakes, by which tasks are told apart, each with every kind of mistake."""
MOST_LISTED = 10
Suite = Annotated[str, typer.Argument(help="core, a world's name, a task file, a folder or a pattern.")]


@app.command()
def show(suite: Suite = "core", json: Json = False) -> None:
    """Print the manifest of a suite: its version, and how many tasks and worlds it has."""
    manifest = _manifest(suite)
    if json:
        print_json(manifest.as_json())
        return
    out = console()
    out.print(f"suite {manifest.name}, pathrig {manifest.version}, digest {manifest.digest}")
    out.print(
        f"{len(manifest.tasks)} tasks in {len(manifest.worlds)} worlds, {len(manifest.templates)} templates; "
        f"licence {manifest.licence}"
    )
    out.print(f"canary: {manifest.canary}")


@app.command()
def build(
    suite: Suite = "core",
    out: Annotated[Path, typer.Option("--out", "-o", help="The manifest's file.")] = Path("suite.json"),
    held_out: Annotated[
        int | None,
        typer.Option(min=1, help="Commit to so many instances that nobody knows yet, drawn from a secret."),
    ] = None,
    secret: Annotated[
        Path, typer.Option(help="With --held-out: the file that gets the secret.", metavar="FILE")
    ] = Path("suite.secret"),
) -> None:
    """Write the manifest of a suite: the hash of every task and world, its licence and its canary."""
    manifest = _manifest(suite)
    if held_out is not None:
        if secret.exists():
            raise UsageError(
                f"--secret {secret}: is there already, and an exam may depend on it: name another"
            )
        if not manifest.templates:
            raise UsageError(f"--held-out: suite {suite} has no template to draw instances of")
        drawn = token_hex(32)
        write_file(secret, "--secret", drawn + "\n")
        secret.chmod(0o600)
        manifest = replace(manifest, held_out=HeldOut.of(drawn, held_out))
        print(f"pathrig: {secret} holds the secret; keep it until the exam begins", file=sys.stderr)
    write_file(out, "--out", json_text(manifest.as_json(), indent=2) + "\n")
    print(f"pathrig: {out} holds the manifest of suite {suite}", file=sys.stderr)


@app.command()
def reveal(
    manifest: Annotated[Path, typer.Argument(help="A manifest with a commitment.")],
    secret: Annotated[Path, typer.Argument(help="The file of the secret.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The list of instances.")] = Path("held-out.yaml"),
) -> None:
    """Draw the held-out instances of a suite from its secret, which must be that of the commitment."""
    written = _read_manifest(manifest)
    committed = written.get("held_out")
    if committed is None:
        raise UsageError(f"{manifest}: commits to no held-out split; see `pathrig suite build --held-out`")
    try:
        drawn = HeldOut(**committed).draw(secret.read_text(encoding="utf-8").strip(), written["templates"])
    except OSError as error:
        raise UsageError(f"{secret}: cannot be read: {error}") from None
    except ConfigError as error:
        raise UsageError(f"{secret}: {error}") from None
    write_file(out, "--out", f"# {CANARY}\nsuite:\n" + "".join(f"  - {name}\n" for name in drawn))
    print(f"pathrig: {out} holds {len(drawn)} instances; run them with --suite {out}", file=sys.stderr)


@app.command()
def check(
    suite: Suite = "core",
    against: Annotated[
        Path | None, typer.Option(help="A manifest: tell what has changed since.", metavar="FILE")
    ] = None,
    planners: Annotated[
        bool,
        typer.Option("--planners", help="Also run planners with mistakes, and list what separates none."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the episodes.")] = 0,
    db: Annotated[Path, typer.Option(help="The log of the baselines' episodes.")] = Path("suite.db"),
    json: Json = False,
) -> int:
    """Run the baselines on a suite, and tell whether it can be released. Exit with 1 if it cannot."""
    changed = None if against is None else _changed(_manifest(suite), against)
    agents = [*IDLE, "repeat", "random", "oracle"]
    if planners:
        agents += _planners()
    episodes = _episodes(suite, agents, seed, db)
    found = bounds(episodes, IDLE)
    ready = bool(found) and all(one.holds for one in found) and not changed
    shares = solved_shares(episodes)
    same = separates_nothing(shares) if planners else None
    if json:
        content: dict[str, Any] = {
            "releasable": ready,
            "bounds": [asdict(one) | {"share": one.share, "holds": one.holds} for one in found],
            "changed": changed,
            "difficulty": shares if planners else None,
            "separates_nothing": same,
        }
        print_json(content)
    else:
        _print(found, changed, same, len(shares), ready=ready)
    return DONE if ready else NOT_RELEASABLE


def _print(
    found: list[Bound], changed: list[str] | None, same: list[str] | None, tasks: int, *, ready: bool
) -> None:
    out = console()
    table = Table("agent", "passes", "of", "share", "must be", "", numbers=("passes", "of", "share"))
    for one in found:
        must = "100 %" if one.limit == 1.0 else f"below {one.limit:.0%}"
        verdict = Text("holds" if one.holds else "MISSED", style="" if one.holds else "red")
        table.add_row(one.agent, str(one.passed), str(one.tasks), f"{one.share:.1%}", must, verdict)
    out.print(table)
    for line in changed or ():
        out.print(Text(f"since the manifest: {line}", style="yellow"))
    if same is not None:
        few = ", ".join(same[:MOST_LISTED]) + (", ..." if len(same) > MOST_LISTED else "")
        out.print(f"{len(same)} of {tasks} tasks separate none of the planners: {few or 'none'}")
        out.print("Planners are scripted: no model was used.")
    out.print("The suite can be released." if ready else "The suite cannot be released.")


def _planners() -> list[str]:
    return [f"{rate}:{kind}" for rate in KINDS for kind in MISTAKES]


def _manifest(suite: str) -> Manifest:
    return Manifest.of(suite, read_suite(suite).tasks)


def _changed(manifest: Manifest, path: Path) -> list[str]:
    return manifest.differences(_read_manifest(path))


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        written = parse_json(path.read_bytes())
    except (OSError, ForeignJsonError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None
    if not isinstance(written, dict) or not isinstance(written.get("tasks"), dict):
        raise UsageError(f"{path}: is no manifest; write one with `pathrig suite build`")
    return written


def _episodes(suite: str, agents: list[str], seed: int, db: Path) -> list[EpisodeRow]:
    """Run every agent on every task in the task's own world; return the episodes."""
    places, measured = task_places([], [suite], [])
    cells = tuple(Cell(task=task, rig=rig, agent=agent) for agent in agents for task, rig in places)
    config = RunConfig(cells=cells, suites=measured, seed=seed)
    with progress("episodes", len(cells)) as advance, RunLog(db) as log:

        def emit(event: object) -> None:
            if isinstance(event, EpisodePlanned):
                advance(1)

        run = Run(config, load_parts(config), log, emit).start()
    with LogReader(db) as reader:
        return list(reader.episodes(run))
