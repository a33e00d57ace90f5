"""What comes after a run: JUnit XML, report, JSON and thresholds, from the log. For `run` and `gate`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agents.names import without_folders
from configs.errors import ConfigError
from configs.programs import consent
from configs.rigs_loader import load_rig
from configs.tasks_loader import load_task
from core_eval.cli.output import UsageError, check_output, print_json, write_file
from core_eval.cli.report import check_report, first_page, write_report
from core_eval.log import EpisodeRow, LogReader
from core_eval.report.tables.junit import NotRun, junit_xml
from core_eval.run.config import RunConfig
from core_eval.score.aggregate import load_aggregate
from core_eval.score.summary import latest_attempts, run_json
from core_eval.score.thresholds import Judged, Threshold, judge, load_gates


@dataclass(frozen=True)
class Outputs:
    """What is asked for.

    Attributes:
        thresholds: what each agent must keep.
        junit: the file for JUnit XML.
        report: the file or folder for the report.
        json: whether episodes and summary are printed as JSON.
    """

    thresholds: Sequence[Threshold] = ()
    junit: Path | None = None
    report: Path | None = None
    json: bool = False

    @classmethod
    def checked(
        cls,
        fail_under: Sequence[str] | None,
        gates: Path | None,
        junit: Path | None,
        report: Path | None,
        json: bool,
    ) -> Outputs:
        """Return what the options ask for.

        Raises:
            UsageError, ConfigError: a threshold is wrong, or a file cannot be written.
        """
        if junit is not None:
            check_output(junit, "--junit")
        if report is not None:
            check_report(report, "--report")
        try:
            thresholds = [Threshold.parse(text) for text in fail_under or ()]
        except ValueError as error:
            raise UsageError(f"--fail-under {error}") from None
        return cls((*thresholds, *([] if gates is None else load_gates(gates))), junit, report, json)


@dataclass(frozen=True)
class Finished:
    """A run, as its log has it.

    Attributes:
        episodes: the last attempt of each.
        judged: the thresholds, of agents that came to the end of their episodes.
        not_run: the episodes of the plan that are missing.
    """

    episodes: Sequence[EpisodeRow]
    judged: Sequence[Judged] = ()
    not_run: Sequence[NotRun] = ()

    def print_missed(self) -> bool:
        """Print the thresholds that were missed on standard error; return whether there are any."""
        missed = [one for one in self.judged if one.missed is not None]
        for one in missed:
            print(f"pathrig: threshold missed: {one.who}: {one.missed}", file=sys.stderr)
        return bool(missed)

    def how_failed(self, failed: Mapping[str, str]) -> str:
        """Return which agents failed and what is missing, while the others' episodes were run."""
        lines = []
        for agent, why in failed.items():
            left = sum(one.agent == agent for one in self.not_run)
            rest = f" ({left} of its episodes were not run)" if left else ""
            lines.append(f"agent {agent} failed: {why}{rest}")
        return f"{'; '.join(lines)}; --resume runs what is missing"


def finish(
    db: Path,
    run: int | None,
    config: RunConfig,
    outputs: Outputs,
    *,
    failed: Mapping[str, str] | None = None,
    cut_short: str = "",
) -> Finished:
    """Judge a run by its log, and write what is asked for.

    Args:
        db: the log.
        run: the run's id; None where it failed before the log had it.
        config: the run's plan.
        outputs: what is asked for.
        failed: why agents did not come to their end, by their names; None: those with missing episodes.
        cut_short: why the whole run did not come to its end; no threshold is judged then.

    Raises:
        LogError: the log cannot be read.
        UsageError: a file cannot be written.
    """
    with LogReader(db) as reader:
        rows = latest_attempts([] if run is None else reader.episodes(run))
    not_run = _not_run(config, rows)
    if failed is None:
        failed = {one.agent: "the run has not ended" for one in not_run}
    whole = [row for row in rows if row.agent not in failed and row.agent not in config.floors]
    judged = [] if cut_short else judge(outputs.thresholds, whole)
    if outputs.junit is not None:
        not_judged = outputs.thresholds if cut_short or failed else ()
        why = cut_short or "; ".join(dict.fromkeys(failed.values()))
        page = None if outputs.report is None else str(first_page(outputs.report))
        tested = [row for row in rows if row.agent not in config.floors]
        suites = [f"{one.name} {one.version} {one.digest}" for one in config.suites]
        xml = junit_xml(tested, judged, not_run, not_judged, why, page, suites)
        write_file(outputs.junit, "--junit", xml, inputs=[db])
    if outputs.report is not None and rows:
        write_report(db, outputs.report, load_aggregate(), option="--report")
    if outputs.json:
        print_json({"suites": [one.model_dump() for one in config.suites], **run_json(rows)})
    return Finished(rows, judged, not_run)


def _not_run(config: RunConfig, rows: Sequence[EpisodeRow]) -> list[NotRun]:
    """Return the episodes of the plan that have no row."""
    begun = {row.number: row for row in rows}
    plan = config.plan()
    tasks = {cell.task: begun[number].task for number, cell, _ in plan if number in begun}
    rigs = {cell.rig: begun[number].rig for number, cell, _ in plan if number in begun}
    missing = [(cell, seed) for number, cell, seed in plan if number not in begun]
    # For a name nothing is started, so nobody is asked; what is not here goes by its reference.
    with consent(lambda _: False):
        for cell, _ in missing:
            if cell.task not in tasks:
                with suppress(ConfigError):
                    tasks[cell.task] = load_task(cell.task).id
            if cell.rig not in rigs:
                with suppress(ConfigError):
                    rigs[cell.rig] = load_rig(cell.rig).name
    return [
        NotRun(
            without_folders(rigs.get(cell.rig, cell.rig)),
            config.names[cell.agent],
            tasks.get(cell.task, cell.task.rpartition("#")[2]),
            seed,
        )
        for cell, seed in missing
    ]
