"""`pathrig suite`: a suite as an artefact, and whether it measures."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Any, Literal

import typer
from rich.text import Text

from agents.baselines.floors import IDLE
from agents.baselines.mutated import KINDS as MISTAKES
from agents.names import agent_name, without_folders
from configs.difficulty import Measured, MeasuredTask
from configs.errors import ConfigError
from configs.suite_manifest import CANARY, HeldOut, Manifest, MeasuredSuite
from configs.suites import read_suite
from configs.task import Task
from core_eval.cli.output import Json, UsageError, check_output, console, print_json, write_file
from core_eval.cli.progress import progress, tracked
from core_eval.cli.task_places import task_places
from core_eval.export import ExportError
from core_eval.export.dataset_card import dataset_card
from core_eval.export.hf_dataset import write_dataset
from core_eval.log import EpisodeRow, LogReader, RunLog
from core_eval.log.events import EpisodePlanned
from core_eval.report.tables.fitted_table import Table
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.side_by_side import SideBySide
from core_eval.score.episodes import counted
from core_eval.score.release import Bound, bounds, separates_nothing, solved_shares
from core_eval.text.foreign_json import ForeignJsonError, parse_json
from core_eval.text.json_text import json_text

app = typer.Typer(help="Build a suite's manifest, and check what it measures.", no_args_is_help=True)
DONE, NOT_RELEASABLE = 0, 1
KINDS = ("mutated:0.1", "mutated:0.3", "mutated:0.6")
"""Planners with mistakes, by which tasks are told apart, each with every kind of mistake."""
MOST_LISTED = 10
Suite = Annotated[str, typer.Argument(help="core, a world's name, a task file, a folder or a pattern.")]

FloorsLog = Annotated[
    Path | None, typer.Option("--db", help="A log of `suite check`: the card tells its baselines.")
]


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
    card: Annotated[
        Path | None, typer.Option(help="Also write the suite's card here, as Markdown.", metavar="FILE.md")
    ] = None,
    db: FloorsLog = None,
) -> None:
    """Write the manifest of a suite: the hash of every task and world, its licence and its canary."""
    manifest, tasks = _read(suite)
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
    if card is not None:
        write_file(card, "--card", dataset_card(manifest, tasks, _floors(db, manifest)))
        print(f"pathrig: {card} holds the card of suite {suite}", file=sys.stderr)


@app.command()
def export(
    suite: Suite = "core",
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The folder to write; files of the same names are replaced.")
    ] = Path("suite"),
    form: Annotated[
        Literal["hf"], typer.Option("--format", help="hf: Parquet and a card, for the library datasets.")
    ] = "hf",
    db: Annotated[
        Path | None,
        typer.Option(help="Also write this log: its episodes, steps and harm; its baselines are the card's."),
    ] = None,
) -> None:
    """Write a suite for other tools: tasks, prompts, automata, and the episodes of a log."""
    check_output(out / "README.md" if out.is_dir() else out, "-o")
    manifest, tasks = _read(suite)
    try:
        with nullcontext() if db is None else LogReader(db) as log:
            names = write_dataset(manifest, tasks, out, log, tracked, _floors(db, manifest))
    except ExportError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"-o {out}: {error.strerror or error}") from None
    print(f"pathrig: {out} holds {', '.join(names)} of suite {suite}", file=sys.stderr)


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
    changed = None if against is None else _changed(_manifest(suite), against)
    agents = [*IDLE, "repeat", "random", "oracle"]
    if planners:
        agents += _planners()
    elif out is not None:
        raise UsageError("-o writes the difficulty that planners measure: add --planners")
    agents = list(dict.fromkeys([*agents, *(agent or [])]))
    episodes = _episodes(suite, agents, seed, db, jobs)
    found = bounds(episodes, IDLE)
    ready = bool(found) and all(one.holds for one in found) and not changed
    shares = solved_shares(episodes)
    same = separates_nothing(shares) if planners else None
    if out is not None:
        _write_difficulty(out, suite, agents, shares, seed)
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


def _write_difficulty(
    out: Path, suite: str, agents: list[str], shares: Mapping[str, float], seed: int
) -> None:
    manifest = _manifest(suite)
    tasks = {
        task: MeasuredTask(digest=manifest.tasks[task], solved=round(share, 4))
        for task, share in sorted(shares.items())
    }
    measured = Measured(suite=manifest.measured, seed=seed, agents=tuple(agents), tasks=tasks)
    write_file(out, "--out", json_text(measured.model_dump(), indent=1) + "\n")
    print(f"pathrig: {out} holds the difficulty of {len(tasks)} tasks", file=sys.stderr)


def _planners() -> list[str]:
    return [f"{rate}:{kind}" for rate in KINDS for kind in MISTAKES]


def _manifest(suite: str) -> Manifest:
    return _read(suite)[0]


def _read(suite: str) -> tuple[Manifest, Sequence[Task]]:
    tasks = read_suite(suite).tasks
    return Manifest.of(without_folders(suite), tasks), tasks


def _floors(db: Path | None, manifest: Manifest) -> Sequence[Bound]:
    """Return what the baselines of a log pass of this suite; nothing where it measured another one."""
    return () if db is None else bounds(_logged(db, (manifest.measured,)), IDLE)


def _logged(db: Path, suites: Sequence[MeasuredSuite]) -> list[EpisodeRow]:
    """Return the episodes that count of the runs of a log that measured just these suites."""
    with LogReader(db) as reader:
        runs = [run for run in reader.runs() if RunConfig.from_log(run.config).suites == tuple(suites)]
        return counted(row for run in runs for row in reader.episodes(run.id))


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


def _episodes(suite: str, agents: list[str], seed: int, db: Path, jobs: int) -> list[EpisodeRow]:
    """Run every agent on every task in the task's own world; return the episodes.

    What the log holds of the same suite and seed is not run again.
    """
    places, measured = task_places([], [suite], [])

    def kept() -> list[EpisodeRow]:
        return [row for row in _logged(db, measured) if row.seed == seed] if db.exists() else []

    done = {(row.task, row.agent) for row in kept()}
    cells = tuple(
        Cell(task=task, rig=rig, agent=agent)
        for task, rig in places
        for agent in agents
        if (task.rpartition("#")[2], agent_name(agent)) not in done
    )
    if cells:
        config = RunConfig(cells=cells, suites=measured, seed=seed)
        with progress("episodes", len(cells)) as advance, RunLog(db) as log:

            def emit(event: object) -> None:
                if isinstance(event, EpisodePlanned):
                    advance(1)

            SideBySide(config, load_parts(config), log, emit, jobs).start()
    wanted = {agent_name(agent) for agent in agents}
    return [row for row in kept() if row.agent in wanted]
