"""`pathrig run`: episodes of tasks with agents on rigs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from agents.agent import BackendError
from configs.suite_manifest import MeasuredSuite
from configs.suites import HAZARDS
from core_eval.cli import run_options as given
from core_eval.cli.agent_options import episode_limits, parse_settings, with_settings
from core_eval.cli.checked_parts import checked_parts
from core_eval.cli.finish import Finished, Outputs, finish
from core_eval.cli.live_lines import LiveLines
from core_eval.cli.live_page import live_page, shown_run
from core_eval.cli.output import UsageError, console, print_agents, read_json_object
from core_eval.cli.progress import is_shown
from core_eval.cli.resume import unfinished
from core_eval.cli.task_places import floors_beside, task_places
from core_eval.cli.workers import Workers
from core_eval.log import RunLog, ignore
from core_eval.report.tables.agents import episodes_table
from core_eval.run.config import Cell, RunConfig

MOST_LISTED = 60
"""Maximum number of episodes that are listed with their steps; `pathrig show` lists more."""


def run(
    task: given.Task = None,
    suite: given.Suite = None,
    episodes: given.Episodes = 1,
    seed: given.Seed = 0,
    init: given.Init = None,
    vary: given.Vary = False,
    hazards: given.Hazards = False,
    retries: given.Retries = 0,
    keep_going: given.KeepGoing = None,
    resume: given.Resume = None,
    jobs: given.Jobs = 1,
    dask: given.Dask = None,
    agent: given.Agent = None,
    settings: given.Set = None,
    floors: given.Floors = None,
    rig: given.Rig = None,
    guard: given.Guard = None,
    rules: given.Rules = None,
    safe_tool: given.SafeTool = None,
    call_timeout: given.CallTimeout = 120.0,
    live: given.Live = None,
    allow_programs: given.AllowPrograms = False,
    fail_under: given.FailUnder = None,
    gates: given.Gates = None,
    faults_are_harm: given.FaultsAreHarm = False,
    db: given.Db = given.DEFAULT_DB,
    durable: given.Durable = False,
    junit: given.Junit = None,
    report: given.Report = None,
    json: given.Json = False,
) -> int:
    """Run episodes, log every call, and score them.

    Give --task and --rig, or --suite; and --agent. Or give --resume. Options marked * are repeatable.
    """
    outputs = Outputs.checked(fail_under, gates, junit, report, json)
    resumed = None
    if resume is not None:
        if task or suite or agent or settings or init is not None or vary or hazards or rules is not None:
            raise UsageError(
                "--resume uses the plan in the log: leave out --task, --suite, --agent, --set, --init, "
                "--vary, --hazards and --rules"
            )
        config, resumed = unfinished(db, rig or [])
    else:
        options = parse_settings(settings or [])
        specs = with_settings(agent or [], options)
        added = floors_beside(floors, specs, suite or [], rig or [])
        cells, measured = _cells(task or [], suite or [], rig or [], [*specs, *added])
        config = RunConfig(
            cells=cells,
            suites=measured,
            floors=added,
            limits=episode_limits(options),
            episodes=episodes,
            seed=seed,
            init=None if init is None else read_json_object(init, "--init"),
            vary=vary,
            hazards=hazards or HAZARDS in (suite or []),
            guard=guard,
            rules=given.rules_to_check(rules),
            faults_are_harm=faults_are_harm,
            call_timeout=call_timeout,
            retries=retries,
        )
    # Of a resumed log neither is believed.
    changes: dict[str, object] = {"safe_tools": tuple(safe_tool or ())}
    if keep_going is not None:
        changes["keep_going"] = keep_going
    config = config.model_copy(update=changes)
    workers = Workers(jobs, dask)
    return _run(config, resumed, outputs, db, durable, live, workers, repeat=resume is not False)


def _run(
    config: RunConfig,
    resumed: int | None,
    outputs: Outputs,
    db: Path,
    durable: bool,
    live: str | None,
    workers: Workers,
    *,
    repeat: bool,
) -> int:
    """Run a plan, or what is left of a run, and finish it; return the exit status."""
    out = console(stderr=outputs.json)
    parts = checked_parts(config)
    # Asked for on a pipe, progress is a line an episode.
    steps = len(config.plan()) <= MOST_LISTED and (not outputs.json or sys.stderr.isatty())
    several_rigs = len({cell.rig for cell in config.cells}) > 1
    lines = ignore if outputs.json and not is_shown() else LiveLines(out, steps=steps, rigs=several_rigs)
    with (
        live_page(live) as page,
        RunLog(db, durable=durable) as log,
    ):
        the_run = shown_run(config, parts, log, lines, page, workers)
        try:
            if resumed is None:
                the_run.start()
            else:
                the_run.resume(resumed, repeat=repeat)
        except BaseException as error:
            # The completed episodes count.
            finish(
                db, the_run.run_id, config, outputs, failed=the_run.failed, cut_short=str(error) or "stopped"
            )
            raise
        finished = finish(db, the_run.run_id, config, outputs, failed=the_run.failed)
    return _end(db, finished, the_run.failed, json=outputs.json)


def _end(db: Path, finished: Finished, failed: Mapping[str, str], *, json: bool) -> int:
    """Print the tables of a run, what it missed, and which agents failed; return the exit status."""
    if not json:
        out = console()
        if 1 < len(finished.episodes) <= MOST_LISTED:
            out.print(episodes_table(finished.episodes))
        print_agents(out, finished.episodes)
        out.print(f"The log is {db}; see `pathrig show {db}`.")
    missed = finished.print_missed()
    if failed:
        raise BackendError(finished.how_failed(failed))
    return 1 if missed else 0


def _cells(
    tasks: list[str], suites: list[str], rigs: list[str], agent: list[str]
) -> tuple[tuple[Cell, ...], tuple[MeasuredSuite, ...]]:
    if not (tasks or suites) or not (rigs or suites) or not agent:
        raise UsageError("give --task or --suite, --rig and --agent, or --resume to resume a run")
    places, measured = task_places(tasks, suites, rigs)
    return tuple(Cell(task=one, rig=where, agent=spec) for spec in agent for one, where in places), measured
