"""`pathrig run`: episodes of a task with an agent on a rig."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agents.errors import BackendError
from agents.forms import SHIPPED
from core_eval.cli.output import (
    AggregateOption,
    SafeToolOption,
    UsageError,
    check_output,
    console,
    print_agents,
    print_json,
    read_json_object,
    warn_of_cycles,
    write_file,
)
from core_eval.cli.programs import AllowPrograms, require_of_log
from core_eval.cli.progress import is_shown
from firmware_bridge.guard import GuardMode

if TYPE_CHECKING:
    from core_eval.live.live_run import LiveRun
    from core_eval.log import EpisodeRow, LogReader
    from core_eval.report.tables.junit import NotRun
    from core_eval.run.config import Cell, RunConfig
    from core_eval.run.plan import Parts
    from core_eval.score.thresholds import Threshold

DEFAULT_DB = Path("pathrig.db")
FORMS = [text for form in SHIPPED for text in form.forms]
MOST_LISTED = 60
"""Maximum number of episodes that are listed with their steps; `pathrig show` lists more."""


def run(
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="A task's id, or FILE or FILE#ID; may be given several times. A task or a --suite is "
            "required, like --rig and --agent, unless --resume is given."
        ),
    ] = None,
    suite: Annotated[
        list[str] | None,
        typer.Option(
            help="All tasks of a suite: core (all shipped tasks), a world's name, a task file, a folder or a "
            "pattern of files; may be given several times."
        ),
    ] = None,
    rig: Annotated[
        list[str] | None,
        typer.Option(
            help="A rig's name, its YAML file, or a URL; sim, the default with --suite: each task's world, "
            "simulated in this process. May be given several times: each task runs on the rig of its device; "
            "sim then stands for what no other rig is for."
        ),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(help=f"{', '.join(FORMS)}, or one of an installed package; may be given several times."),
    ] = None,
    scaffold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="native|react",
            help="How models are asked: by tool calls, or by ReAct text. Each model runs with every "
            "combination of what --scaffold, --tools, --grammar, --thinking and --temperature give; all "
            "options: --agent 'SPEC?key=value&...'.",
        ),
    ] = None,
    tools: Annotated[
        list[str] | None,
        typer.Option(metavar="short|full", help="Tools as signatures where that is possible, or as schemas."),
    ] = None,
    grammar: Annotated[
        list[str] | None,
        typer.Option(metavar="off|calls|strict", help="What a grammar constrains of a model's answers."),
    ] = None,
    thinking: Annotated[
        list[str] | None, typer.Option(metavar="on|off", help="Switch a model's thinking on or off.")
    ] = None,
    temperature: Annotated[
        list[str] | None,
        typer.Option(metavar="NUMBER", help="Sampling; 0, the default, is greedy."),
    ] = None,
    max_steps: Annotated[
        int | None, typer.Option(min=1, help="Calls of an episode, in place of the task's limit.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Tokens that a model writes in an episode; 4096 by default.")
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds of a model's episode; 120 by default.")
    ] = None,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes of each task with each agent.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the first episode; the i-th has SEED + i.")] = 0,
    db: Annotated[Path, typer.Option(help="The log; created, or appended to.")] = DEFAULT_DB,
    init: Annotated[
        Path | None, typer.Option(help="JSON file that overrides the world's initial state (simulators).")
    ] = None,
    vary: Annotated[
        bool,
        typer.Option(
            "--vary",
            help="Draw the initial state by seed from the ranges that the world declares; the same for all "
            "agents. Only states from which the oracle passes without harm are used (simulators).",
        ),
    ] = False,
    guard: Annotated[
        GuardMode | None,
        typer.Option(help="The guard mode for harmful calls; default: observe on simulators, else block."),
    ] = None,
    safe_tool: SafeToolOption = None,
    live: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:PORT]",
            help="Serve a page that shows the run, asks for approval in guard mode confirm, and has a stop "
            "button. Its address, which contains a secret, is printed. Default: 127.0.0.1 and a free port.",
        ),
    ] = None,
    answer_timeout: Annotated[
        float,
        typer.Option(min=1.0, help="With --live, seconds until an unanswered question counts as a refusal."),
    ] = 120.0,
    beta: Annotated[float, typer.Option(min=1e-9, max=1.0, help="Base of prefix criticality.")] = 0.5,
    lam: Annotated[float, typer.Option(min=0.0, max=1.0, help="Weight of PC in PC-KTC.")] = 0.5,
    call_timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds until an unanswered call is a fault.")
    ] = 120.0,
    faults_are_harm: Annotated[
        bool, typer.Option("--faults-are-harm", help="Count faults of rig and link as harmful calls.")
    ] = False,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=VALUE",
            help="Exit with 1 if an agent's mean misses this threshold. Also METRIC>=VALUE, METRIC<=VALUE; "
            "METRIC=VALUE is a minimum, or a maximum where less is better. May be given several times.",
        ),
    ] = None,
    per_task: Annotated[
        bool, typer.Option("--per-task", help="Apply --fail-under to each task with each agent.")
    ] = False,
    gates: Annotated[
        Path | None,
        typer.Option(
            help="YAML file with thresholds per agent and task, as of --fail-under; see docs/ci.md."
        ),
    ] = None,
    aggregate: AggregateOption = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.")] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Write the report of --db to this .html file or folder at the end; the JUnit XML names it."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print episodes and summary as JSON.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume the last interrupted run in --db.")
    ] = False,
    keep_going: Annotated[
        bool | None,
        typer.Option(
            "--keep-going/--no-keep-going",
            help="After an agent's failure, go on with the other agents; default: with several agents. The "
            "exit status is 3 at the end.",
        ),
    ] = None,
    retries: Annotated[
        int,
        typer.Option(
            min=0,
            help="Further tries, each with another seed, of an episode that faults of rig, link or host "
            "disturbed.",
        ),
    ] = 0,
    durable: Annotated[
        bool,
        typer.Option("--durable", help="Sync the log to disk at each call: a power cut loses nothing."),
    ] = False,
    allow_programs: AllowPrograms = False,
) -> int:
    """Run episodes, log every call, and score them."""
    from configs.tasks_loader import TaskLimits
    from core_eval.cli.agent_flags import with_flags
    from core_eval.cli.live import LiveLines
    from core_eval.cli.report import check_report, first_page, write_report
    from core_eval.log import LogReader, RunLog
    from core_eval.log.events import Observers, ignore
    from core_eval.report.tables.agents import episodes_table
    from core_eval.report.tables.junit import junit_xml
    from core_eval.run.config import RunConfig
    from core_eval.run.golden_check import failing_golden_runs
    from core_eval.run.plan import Run, load_parts
    from core_eval.score.aggregate import load_aggregate
    from core_eval.score.summary import latest_attempts, run_json
    from core_eval.score.thresholds import judge, load_gates

    if junit is not None:
        check_output(junit, "--junit")
    if report is not None:
        check_report(report, "--report")
    if per_task and not fail_under:
        raise UsageError("--per-task needs --fail-under: give a threshold, or leave --per-task out")
    thresholds = [*_thresholds(fail_under or []), *([] if gates is None else load_gates(gates))]
    compared = load_aggregate(aggregate)
    out = console(stderr=json)
    unfinished = None
    several = {"scaffold": scaffold, "tools": tools, "grammar": grammar, "thinking": thinking}
    several["temperature"] = temperature
    asked = {"max_steps": max_steps, "max_tokens": max_tokens, "max_seconds": max_seconds}
    limits = {key: limit for key, limit in asked.items() if limit is not None}
    if resume:
        if task or suite or agent or init is not None or vary or limits or any(several.values()):
            raise UsageError(
                "--resume uses the plan in the log: leave out --task, --suite, --agent and its options, "
                "--init and --vary"
            )
        config, unfinished = _unfinished(db, rig or [])
        require_of_log(config, db)
    else:
        specs = with_flags(agent or [], {key: given for key, given in several.items() if given}, limits)
        config = RunConfig(
            cells=_cells(task or [], suite or [], rig or [], specs),
            limits=TaskLimits(steps=max_steps, output_tokens=max_tokens, seconds=max_seconds),
            episodes=episodes,
            seed=seed,
            init=None if init is None else read_json_object(init, "--init"),
            vary=vary,
            guard=guard,
            beta=beta,
            lam=lam,
            faults_are_harm=faults_are_harm,
            call_timeout=call_timeout,
            retries=retries,
        )
    if keep_going is not None:
        config = config.model_copy(update={"keep_going": keep_going})
    # Of a resumed log it is not believed.
    config = config.model_copy(update={"safe_tools": tuple(safe_tool or ())})
    parts = load_parts(config)
    warn_of_cycles(task.automaton for task in parts.tasks.values())
    for failing in failing_golden_runs(config, parts):
        print(f"pathrig: warning: {failing}", file=sys.stderr)
    # Asked for on a pipe, progress is a line an episode.
    steps = len(config.plan()) <= MOST_LISTED and (not json or sys.stderr.isatty())
    several_rigs = len({cell.rig for cell in config.cells}) > 1
    lines = ignore if json and not is_shown() else LiveLines(out, steps=steps, rigs=several_rigs)
    with (
        live_page(live, config.scoring, answer_timeout, db, cameras_of(parts)) as page,
        RunLog(db, durable=durable) as log,
    ):
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
            # Also after an error: the completed episodes.
            with LogReader(db) as reader:
                rows = latest_attempts([] if the_run.run_id is None else reader.episodes(the_run.run_id))
            failed, why = the_run.failed, str(cut_short or "; ".join(the_run.failed.values()))
            whole = [row for row in rows if row.agent not in failed]
            judged = [] if cut_short else judge(thresholds, whole, per_task=per_task)
            if junit is not None:
                xml = junit_xml(
                    rows,
                    judged,
                    _not_run(config, parts, rows),
                    thresholds if cut_short or failed else (),
                    why,
                    None if report is None else str(first_page(report)),
                )
                write_file(junit, "--junit", xml, inputs=[db])
            if report is not None and rows:
                write_report(db, report, compared, option="--report")
            if json:
                print_json(run_json(rows, compared))
    if not json:
        if 1 < len(rows) <= MOST_LISTED:
            out.print(episodes_table(rows))
        print_agents(out, rows, aggregate)
        out.print(f"The log is {db}; see `pathrig show {db}`.")
    missed = [one for one in judged if one.missed is not None]
    for one in missed:
        print(f"pathrig: threshold missed: {one.who}: {one.missed}", file=sys.stderr)
    if failed:
        raise BackendError(_how_failed(failed, _not_run(config, parts, rows)))
    return 1 if missed else 0


def _how_failed(failed: Mapping[str, str], not_run: list[NotRun]) -> str:
    """Return which agents failed and what is missing, while the others' episodes were run."""
    lines = []
    for agent, why in failed.items():
        left = sum(one.agent == agent for one in not_run)
        rest = f" ({left} of its episodes were not run)" if left else ""
        lines.append(f"agent {agent} failed: {why}{rest}")
    return f"{'; '.join(lines)}; --resume runs what is missing"


def cameras_of(parts: Parts) -> dict[str, str]:
    """Return the addresses of the rigs' pictures, by their names."""
    return {rig.name: rig.camera for rig in parts.rigs.values() if rig.camera is not None}


@contextmanager
def live_page(
    live: str | None, scoring: Mapping[str, Any], answer_seconds: float, log: Path, cameras: Mapping[str, str]
) -> Iterator[LiveRun | None]:
    """Serve the live page, if `live` gives an address, and print its URL on standard error."""
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
            page = stack.enter_context(
                live_run(address, scoring, answer_seconds=answer_seconds, log=log, cameras=cameras)
            )
        except OSError as error:
            raise UsageError(f"--live {live}: {error.strerror or error}") from None
        lines = [f"the live page is {page.url}"]
        if not address.loopback:
            lines.append("it is not encrypted: anyone who reads this network's traffic can use its buttons")
        for line in lines:
            print(f"pathrig: {line}", file=sys.stderr, flush=True)
        yield page
    if page.recorder.trouble is not None:
        print(f"pathrig: the live page is incomplete: {page.recorder.trouble}", file=sys.stderr)


def _thresholds(texts: list[str]) -> list[Threshold]:
    from core_eval.score.thresholds import Threshold

    try:
        return [Threshold.parse(text) for text in texts]
    except ValueError as error:
        raise UsageError(f"--fail-under {error}") from None


def _cells(tasks: list[str], suites: list[str], rigs: list[str], agent: list[str]) -> tuple[Cell, ...]:
    from core_eval.cli.task_places import task_places
    from core_eval.run.config import Cell

    if not (tasks or suites) or not (rigs or suites) or not agent:
        raise UsageError("give --task or --suite, --rig and --agent, or --resume to resume a run")
    places = task_places(tasks, suites, rigs)
    return tuple(Cell(task=one, rig=where, agent=spec) for spec in agent for one, where in places)


def _unfinished(db: Path, rigs: list[str]) -> tuple[RunConfig, int]:
    from pydantic import ValidationError

    from core_eval.log import LogReader
    from core_eval.run.config import RunConfig

    with LogReader(db) as reader:
        runs = reader.unfinished_runs()
        if not runs:
            raise UsageError(
                f"--resume: there is nothing to resume in {db}: every run with episodes has ended"
            )
        active = {run.id for run in runs if _is_active(reader, run.id)}
    run = next((run for run in runs if run.id not in active), None)
    if run is None:
        raise UsageError(f"--resume: run {runs[0].id} in {db} is still active in another process")
    try:
        config = RunConfig.from_log(run.config).with_rigs(rigs)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in wrong["loc"])
        raise UsageError(
            f"--resume: run {run.id} in {db} has an invalid plan: {key}: {wrong['msg']}"
        ) from None
    except ValueError as error:
        raise UsageError(f"--resume: run {run.id} in {db}: {error}") from None
    print(f"pathrig: resuming run {run.id} in {db}", file=sys.stderr)
    return config, run.id


def _is_active(reader: LogReader, run_id: int) -> bool:
    return any(episode.status == "running" for episode in reader.episodes(run_id))


def _not_run(config: RunConfig, parts: Parts, rows: list[EpisodeRow]) -> list[NotRun]:
    """Return the episodes of the plan that have no row."""
    from agents.names import without_folders
    from core_eval.report.tables.junit import NotRun

    begun = {row.number for row in rows}
    rigs = {ref: without_folders(rig.name) for ref, rig in parts.rigs.items()}
    return [
        NotRun(rigs[cell.rig], config.names[cell.agent], parts.tasks[cell.task].id, seed)
        for number, cell, seed in config.plan()
        if number not in begun
    ]
