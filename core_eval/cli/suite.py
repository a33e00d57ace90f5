"""`pathrig suite`: a suite as an artefact, and whether it measures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Literal

import typer

from agents.baselines.floors import IDLE
from configs.errors import ConfigError
from configs.suite_manifest import CANARY, HeldOut
from configs.task import Task
from core_eval.cli.output import Json, UsageError, check_output, console, print_json, write_file
from core_eval.cli.progress import tracked
from core_eval.cli.suite_check import check
from core_eval.cli.suites import Suite, episodes_of, manifest_and_tasks, manifest_of, read_manifest
from core_eval.export.hf_dataset import dataset_card, write_dataset
from core_eval.log import LogReader
from core_eval.score.release import Bound, bounds
from core_eval.text.json_text import json_text

app = typer.Typer(help="Build a suite's manifest, and check what it measures.", no_args_is_help=True)
FloorsLog = Annotated[
    Path | None, typer.Option("--db", help="A log of `suite check`: the card tells its baselines.")
]


@app.command()
def show(suite: Suite = "core", json: Json = False) -> None:
    """Print the manifest of a suite: its version, and how many tasks and worlds it has."""
    manifest = manifest_of(suite)
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
    manifest, tasks = manifest_and_tasks(suite)
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
        write_file(card, "--card", dataset_card(manifest, tasks, _floors(db, suite, tasks)))
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
    manifest, tasks = manifest_and_tasks(suite)
    try:
        with nullcontext() if db is None else LogReader(db) as log:
            names = write_dataset(manifest, tasks, out, log, tracked, _floors(db, suite, tasks))
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
    written = read_manifest(manifest)
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


app.command()(check)


def _floors(db: Path | None, suite: str, tasks: Sequence[Task]) -> Sequence[Bound]:
    """Return what the baselines of a log pass of this suite; nothing where it measured another one."""
    return () if db is None else bounds(episodes_of(db, suite, tasks), IDLE)
