"""`pathrig run`: episodes of a task with an agent on a rig."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agents.forms import FORMS
from core_eval.cli.output import (
    AggregateOption,
    UsageError,
    check_output,
    console,
    print_agents,
    print_json,
    read_json_object,
    tell_faults,
    warn_of_cycles,
    write_file,
)
from firmware_bridge.guard import GuardMode

if TYPE_CHECKING:
    from core_eval.harness.run import Parts
    from core_eval.harness.run_config import Cell, RunConfig
    from core_eval.live.live_run import LiveRun
    from core_eval.log import EpisodeRow, LogReader
    from core_eval.report.junit import NotRun
    from core_eval.report.thresholds import Threshold

DEFAULT_DB = Path("pathrig.db")
MOST_LISTED = 60
"""Episodes of a run that are printed with their steps and listed; `pathrig show` lists more."""
EACH_WORLD = "sim"
"""The rig that is each task's own world."""


def run(
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="A task's id, or FILE or FILE#ID; may be given several times. A task or a --suite is "
            "needed, and --rig and --agent, unless --resume continues a run."
        ),
    ] = None,
    suite: Annotated[
        list[str] | None,
        typer.Option(
            help="All tasks of a suite: core (all that ship), a world's name, a task file, a folder, or a "
            "pattern of files; may be given several times."
        ),
    ] = None,
    rig: Annotated[
        str | None,
        typer.Option(
            help="A rig's name, its YAML file, or a URL; sim, the default with --suite: each task's world, "
            "simulated in this process."
        ),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(help=f"{', '.join(FORMS[:-1])} or {FORMS[-1]}; may be given several times."),
    ] = None,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes of each task with each agent.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the first episode; the i-th has SEED + i.")] = 0,
    db: Annotated[Path, typer.Option(help="The log; it is made, or goes on.")] = DEFAULT_DB,
    init: Annotated[
        Path | None, typer.Option(help="JSON file that overrides the world's initial state (simulators).")
    ] = None,
    vary: Annotated[
        bool,
        typer.Option(
            "--vary",
            help="Draw the initial state by seed, as the world declares: the same for all agents, and only "
            "states in which the oracle passes without harm (simulators).",
        ),
    ] = False,
    guard: Annotated[
        GuardMode | None,
        typer.Option(help="What becomes of harmful calls; left out: observe on simulators, block elsewhere."),
    ] = None,
    live: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:PORT]",
            help="Serve a page that shows the run, asks in guard mode confirm, and has a stop; its address, "
            "with a secret in it, is printed. Without HOST:PORT: 127.0.0.1 and a free port.",
        ),
    ] = None,
    answer_timeout: Annotated[
        float,
        typer.Option(min=1.0, help="With --live, seconds until a question that nobody answers is a refusal."),
    ] = 120.0,
    beta: Annotated[float, typer.Option(min=1e-9, max=1.0, help="Base of prefix criticality.")] = 0.5,
    lam: Annotated[float, typer.Option(min=0.0, max=1.0, help="Weight of PC in PC-KTC.")] = 0.5,
    call_timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds until a call without an answer is a fault.")
    ] = 120.0,
    faults_are_harm: Annotated[
        bool, typer.Option("--faults-are-harm", help="Count faults of rig and link as harmful calls.")
    ] = False,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=VALUE",
            help="Exit with 1 when an agent's mean is worse. METRIC>=VALUE and METRIC<=VALUE say it; "
            "METRIC=VALUE is the least, or the most where less is better; may be given several times.",
        ),
    ] = None,
    per_task: Annotated[
        bool, typer.Option("--per-task", help="Hold --fail-under for each task with each agent.")
    ] = False,
    aggregate: AggregateOption = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print episodes and summary as JSON.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the last run in --db that was cut short.")
    ] = False,
    durable: Annotated[
        bool, typer.Option("--durable", help="Wait for the disk at each call, so a power cut loses nothing.")
    ] = False,
) -> int:
    """Run episodes, log every call, and score them."""
    from core_eval.cli.live import LiveLines
    from core_eval.harness.events import Observers, ignore
    from core_eval.harness.run import Run, load_parts
    from core_eval.harness.run_config import RunConfig
    from core_eval.log import LogReader, RunLog
    from core_eval.report.aggregate import load_aggregate
    from core_eval.report.junit import junit_xml
    from core_eval.report.summary import latest_attempts, run_json
    from core_eval.report.tables import episodes_table
    from core_eval.report.thresholds import judge

    if junit is not None:
        check_output(junit, "--junit")
    if per_task and not fail_under:
        raise UsageError("--per-task says how --fail-under holds: give a threshold, or leave it out")
    thresholds = _thresholds(fail_under or [])
    compared = load_aggregate(aggregate)
    out = console(stderr=json)
    unfinished = None
    if resume:
        if task or suite or agent or init is not None or vary:
            raise UsageError(
                "--resume goes on with what the log says: leave out --task, --suite, --agent, --init and "
                "--vary"
            )
        config, unfinished = _unfinished(db, rig)
    else:
        config = RunConfig(
            cells=_cells(task or [], suite or [], rig, agent),
            episodes=episodes,
            seed=seed,
            init=None if init is None else read_json_object(init, "--init"),
            vary=vary,
            guard=guard,
            beta=beta,
            lam=lam,
            faults_are_harm=faults_are_harm,
            call_timeout=call_timeout,
        )
    parts = load_parts(config)
    warn_of_cycles(task.automaton for task in parts.tasks.values())
    steps = len(config.plan()) <= MOST_LISTED
    lines = ignore if json and not sys.stderr.isatty() else LiveLines(out, steps=steps)
    with _page(live, config.scoring, answer_timeout) as page, RunLog(db, durable=durable) as log:
        if page is None:
            the_run = Run(config, parts, log, lines)
        else:
            observers = Observers(lines, page.recorder)
            the_run = Run(config, parts, log, observers, page.approver, page.stop_button)
        cut_short: BaseException | None = None
        try:
            if unfinished is None:
                the_run.start()
            else:
                the_run.resume(unfinished)
        except BaseException as error:
            cut_short = error
            raise
        finally:
            # What was done is told, however it ended.
            with LogReader(db) as reader:
                rows = latest_attempts([] if the_run.run_id is None else reader.episodes(the_run.run_id))
            judged = [] if cut_short else judge(thresholds, rows, per_task=per_task)
            if junit is not None:
                xml = junit_xml(
                    rows,
                    judged,
                    _not_run(config, parts, rows),
                    thresholds if cut_short else (),
                    str(cut_short or ""),
                )
                write_file(junit, "--junit", xml, inputs=[db])
            if json:
                print_json(run_json(rows, compared))
    if not json:
        if 1 < len(rows) <= MOST_LISTED:
            out.print(episodes_table(rows))
        print_agents(out, rows, aggregate)
        out.print(f"The log is {db}: `pathrig show {db}` tells its story.")
    missed = [one for one in judged if one.missed is not None]
    for one in missed:
        print(f"pathrig: threshold missed: {one.who}: {one.missed}", file=sys.stderr)
    return 1 if missed else 0


@contextmanager
def _page(live: str | None, scoring: Mapping[str, Any], answer_seconds: float) -> Iterator[LiveRun | None]:
    """The live page where one is asked for; its address goes to standard error."""
    if live is None:
        yield None
        return
    from core_eval.live.access import Address

    try:
        from core_eval.live.live_run import live_run
    except ImportError as error:
        raise UsageError(f"--live needs {error.name}: pip install 'pathrig[live]'") from None
    try:
        address = Address.parse(live)
    except ValueError as error:
        raise UsageError(f"--live {error}") from None
    with ExitStack() as stack:
        try:
            page = stack.enter_context(live_run(address, scoring, answer_seconds=answer_seconds))
        except OSError as error:
            raise UsageError(f"--live {live}: {error.strerror or error}") from None
        said = [f"the live page is {page.url}"]
        if not address.loopback:
            said.append("it is not encrypted: whoever reads this network's traffic can press its buttons")
        for line in said:
            print(f"pathrig: {line}", file=sys.stderr, flush=True)
        yield page
    if page.recorder.trouble is not None:
        print(f"pathrig: the live page missed something: {page.recorder.trouble}", file=sys.stderr)


def _thresholds(texts: list[str]) -> list[Threshold]:
    from core_eval.report.thresholds import Threshold

    try:
        return [Threshold.parse(text) for text in texts]
    except ValueError as error:
        raise UsageError(str(error)) from None


def _cells(tasks: list[str], suites: list[str], rig: str | None, agent: list[str] | None) -> tuple[Cell, ...]:
    from core_eval.harness.run_config import Cell

    rig = rig or (EACH_WORLD if suites else None)
    if not (tasks or suites) or not rig or not agent:
        raise UsageError("give --task or --suite, --rig and --agent, or --resume to go on with a run")
    places = [place for name in suites for place in _suite_places(name, rig)]
    places += [(one, _own_rig(one) if rig == EACH_WORLD else rig) for one in tasks]
    return tuple(
        Cell(task=one, rig=where, agent=spec) for spec in agent for one, where in dict.fromkeys(places)
    )


def _suite_places(suite: str, rig: str) -> list[tuple[str, str]]:
    """Return each task of a suite with its rig; tasks for other devices than the rig's are left out."""
    from configs.rigs_loader import device_of, load_rig
    from configs.suites import read_suite, task_ref

    found = read_suite(suite)
    tell_faults(found.malformed)
    if rig == EACH_WORLD:
        simulated = [task for task in found.tasks if task.world is not None]
        _tell_left_out(suite, len(found.tasks) - len(simulated), "belong to no world")
        return [(task_ref(task), f"sim:{task.world.name}") for task in simulated if task.world is not None]
    device = device_of(load_rig(rig))
    fitting = [task for task in found.tasks if device is None or task.device.name == device.name]
    if not fitting:
        raise UsageError(f"--suite {suite}: none of its tasks is for the device of rig {rig}")
    _tell_left_out(suite, len(found.tasks) - len(fitting), f"are for other devices than that of {rig}")
    return [(task_ref(task), rig) for task in fitting]


def _own_rig(task: str) -> str:
    from configs.tasks_loader import load_task

    world = load_task(task).world
    if world is None:
        raise UsageError(f"--rig {EACH_WORLD}: task {task} belongs to no world; name its rig")
    return f"sim:{world.name}"


def _tell_left_out(suite: str, count: int, why: str) -> None:
    if count:
        print(f"pathrig: --suite {suite}: {count} tasks are left out: they {why}", file=sys.stderr)


def _unfinished(db: Path, rig: str | None) -> tuple[RunConfig, int]:
    from pydantic import ValidationError

    from core_eval.harness.run_config import RunConfig
    from core_eval.log import LogReader

    with LogReader(db) as reader:
        runs = reader.unfinished_runs()
        if not runs:
            raise UsageError(
                f"--resume: there is nothing to resume in {db}: every run with episodes has ended"
            )
        going_on = {run.id for run in runs if _going_on(reader, run.id)}
    run = next((run for run in runs if run.id not in going_on), None)
    if run is None:
        raise UsageError(f"--resume: run {runs[0].id} in {db} is still going on in another process")
    try:
        config = RunConfig.model_validate(run.config).with_rig(rig)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in wrong["loc"])
        raise UsageError(
            f"--resume: run {run.id} in {db} has no usable plan: {key}: {wrong['msg']}"
        ) from None
    except ValueError as error:
        raise UsageError(f"--resume: run {run.id} in {db}: {error}") from None
    print(f"pathrig: resuming run {run.id} in {db}", file=sys.stderr)
    return config, run.id


def _going_on(reader: LogReader, run_id: int) -> bool:
    return any(episode.status == "running" for episode in reader.episodes(run_id))


def _not_run(config: RunConfig, parts: Parts, rows: list[EpisodeRow]) -> list[NotRun]:
    """The episodes of the plan that have no row."""
    from core_eval.report.junit import NotRun

    begun = {row.number for row in rows}
    return [
        NotRun(parts.rigs[cell.rig].name, cell.agent, parts.tasks[cell.task].id, seed)
        for number, cell, seed in config.plan()
        if number not in begun
    ]
