"""`pathrig rigs calibrate`: fits the twin of a rig to logged episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core_eval.cli.output import Json, UsageError, console, print_json, write_file
from core_eval.cli.programs import AllowPrograms
from core_eval.cli.progress import progress

if TYPE_CHECKING:
    from core_eval.harm.twin.coverage import Coverage
    from core_eval.score.calibration import CalibratedRig


def calibrate(
    db: Annotated[Path | None, typer.Argument(help="A log with episodes of the rig.")] = None,
    rig: Annotated[str | None, typer.Option(help="The rig: its name or its YAML file.")] = None,
    last: Annotated[int, typer.Option(min=1, help="Number of latest episodes to use.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE.yaml",
            help="Write a rig file of your own that starts from this rig, which ships with the kit.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print only; do not change the rig's file.")
    ] = False,
    probing: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.jsonl",
            help="Write a script of probing calls for the rig's world to this file, and the task that "
            "allows them to FILE.task.yaml; do not calibrate. Run them with `--task FILE.task.yaml "
            "--agent scripted:FILE.jsonl`.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write the fit although it does not explain the episodes.")
    ] = False,
    coverage: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Simulate N rigs like the fitted one, calibrate each from the fitted values on, and say how "
            "often the stated 95 % intervals hold the truth. Each takes half as long as the calibration.",
        ),
    ] = 0,
    coverage_minutes: Annotated[
        float,
        typer.Option(min=0.0, help="Simulate no further rig for --coverage after this many minutes."),
    ] = 5.0,
    json: Json = False,
    allow_programs: AllowPrograms = False,
) -> None:
    """Fit a rig's twin to logged episodes.

    The hidden parameters that the episodes identify are written into the rig's file.
    """
    from configs.rigs_loader import load_rig
    from configs.twin_writer import is_shipped, rig_file, rig_of_ones_own, write_parameters

    if rig is None:
        raise UsageError("give --rig NAME, the rig's name or its YAML file")
    file = rig_file(rig)
    config = load_rig(rig)
    if probing is not None:
        world = config.twin.world if config.twin else config.world or config.site
        _write_probing(rig, world, probing, file)
        return
    if db is None:
        raise UsageError("give the log of the rig's episodes: pathrig rigs calibrate runs.db --rig NAME")
    _check_target(file, out, shipped=is_shipped(file), dry_run=dry_run)
    try:
        import scipy.optimize  # noqa: F401
    except ImportError as error:
        raise UsageError(f"{error}; calibration needs it: pip install 'pathrig[twin]'") from None
    from core_eval.score.calibration import calibrate_rig

    found = calibrate_rig(db, config, last, seed, coverage, coverage_minutes * 60.0, _tracking)
    refused = bool(found.parameters) and not dry_run and not found.calibration.explains and not force
    write = bool(found.parameters) and not dry_run and not refused
    if write and out is not None:
        write_file(out, "-o", rig_of_ones_own(file, found.world, found.parameters), inputs=[db])
    elif write:
        write_parameters(file, found.world, found.parameters)
    written = out or file
    if json:
        print_json({**_as_json(found), "written": str(written) if write else None})
    else:
        _print(found, coverage)
    if refused:
        raise UsageError(
            f"{file} is unchanged: the fit does not explain the episodes (p = {found.calibration.fit:.3f}); "
            "check start, sensors and world of the rig, or give --force"
        )
    if json:
        return
    if not found.parameters:
        print("The episodes identify no parameter; the rig's file is unchanged.")
    elif dry_run:
        print(f"{file} is unchanged, because of --dry-run.")
    else:
        print(f"{written} holds the identified parameters now.")


def _check_target(file: Path, out: Path | None, *, shipped: bool, dry_run: bool) -> None:
    """Check that the parameters can be written.

    Raises:
        UsageError: a shipped rig would be changed, or a file that exists.
    """
    if shipped and out is None and not dry_run:
        raise UsageError(
            f"rig {file.stem} ships with the kit and is not changed: give -o {file.stem}.yaml for a rig file "
            "of your own that starts from it, or --dry-run"
        )
    if out is not None and not shipped:
        raise UsageError(f"-o: {file} is a rig file of your own, and is changed itself: leave it out")
    if out is not None and out.exists():
        raise UsageError(f"-o {out}: exists already; calibrate it by --rig {out}, or give another name")


@contextmanager
def _tracking(words: str, runs: int) -> Iterator[Callable[[], None]]:
    with progress(words, runs) as advance:
        yield lambda: advance(1)


def _write_probing(rig: str, world: str | None, path: Path, file: Path) -> None:
    from agents.baselines.scripted import read_script
    from configs.probing import HEAD, probing_task
    from configs.worlds_loader import load_world
    from sims.world_type import WORLD_TYPES

    task = path.with_name(f"{path.stem}.task.yaml")
    kind = None if world is None else load_world(world).type
    script = None if kind is None else kind.probing
    if world is None or kind is None or script is None:
        known = ", ".join(name for name, type_ in WORLD_TYPES.items() if type_.probing is not None)
        raise UsageError(f"--probing: world {world} has no probing script; these have one: {known}")
    if task.exists() and not task.read_bytes().startswith(HEAD.encode()):
        raise UsageError(f"--probing {path}: {task} exists already; move it, or give another name")
    write_file(path, "--probing", script.read_text(encoding="utf-8"), inputs=[file])
    allowed = probing_task(world, read_script(script), kind.device.reads)
    write_file(task, "--probing", allowed, inputs=[file])
    print(f"{path} holds the calls, and {task} the task that allows only them. Make them with:")
    print(f"  pathrig run --task {task} --rig {rig} --agent scripted:{path} --db runs.db")


def _print(found: CalibratedRig, asked: int) -> None:
    from core_eval.report.tables.fitted_table import Table

    calibration = found.calibration
    numbers = ("value", "spread", "spread before", "information")
    covers = ("in its interval",) if found.coverage else ()
    table = Table(
        "parameter",
        *numbers,
        "identifiable",
        *covers,
        "identified by",
        "probing",
        numbers=(*numbers, *covers),
    )
    for one in calibration.parameters:
        shown = found.parameters.get(one.name)
        table.add_row(
            one.name,
            "-" if shown is None else f"{shown.value:g}",
            "-" if shown is None else f"{shown.spread:g}",
            f"{one.before:.2g}",
            f"{one.information:.3g}",
            "yes" if one.identified else "no: it keeps its range",
            *([_covered(found.coverage[one.name])] if covers else []),
            one.told_by or "-",
            found.probing.get(one.name) or ("nothing of it" if found.probing else "-"),
        )
    out = console()
    out.print(table)
    episodes = "1 episode" if calibration.episodes == 1 else f"{calibration.episodes} episodes"
    out.print(
        f"{episodes} of {found.world}, {calibration.runs} parameter vectors tried; "
        f"log-likelihood {calibration.log_likelihood:.1f}, "
        f"expected {calibration.expected_log_likelihood:.1f} (fit p = {calibration.fit:.3f}), "
        f"with nominal parameters {calibration.nominal_log_likelihood:.1f}"
    )
    out.print(
        "information: Fisher's, as a multiple of the prior's; identified by: which part of these episodes "
        "identifies the parameter; probing: what of a probing episode (--probing) would. Where nothing does, "
        "another start, a longer record or a finer sensor may"
    )
    if found.coverage:
        refits = next(iter(found.coverage.values())).refits
        out.print(
            f"in its interval: of {refits} simulated rigs like the fitted one those whose calibration "
            "identifies the parameter, and how many of these have it within 1.96 spreads"
        )
        if refits < asked:
            out.print(f"{refits} of the {asked} rigs asked for: the time was up (--coverage-minutes)")


def _covered(one: Coverage) -> str:
    return f"{one.inside} of {one.stated}" if one.stated else "-"


def _coverage_json(one: Coverage | None) -> dict[str, Any] | None:
    return None if one is None else {**asdict(one), "interval": one.interval}


def _as_json(found: CalibratedRig) -> dict[str, Any]:
    calibration = found.calibration
    return {
        "world": found.world,
        "episodes": list(found.episodes),
        "parameters": {
            one.name: {
                "value": one.estimate.value,
                "spread": one.estimate.spread,
                "spread_before": one.before,
                "pinned": one.identified,
                "information": one.information,
                "told_by": one.told_by,
                "probing": found.probing.get(one.name),
                "coverage": _coverage_json(found.coverage.get(one.name)),
            }
            for one in calibration.parameters
        },
        "runs": calibration.runs,
        "log_likelihood": calibration.log_likelihood,
        "nominal_log_likelihood": calibration.nominal_log_likelihood,
        "expected_log_likelihood": calibration.expected_log_likelihood,
        "fit": calibration.fit,
    }
