"""`pathrig harm`: the harm in a log, and whether the rig's own sensors observed it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from core_eval.cli.output import Json, UsageError, check_output, console, print_json, write_file
from core_eval.cli.progress import progress, tracked
from core_eval.cli.references import (
    AgentOption,
    KindOption,
    TaskOption,
    WorstOption,
    episode_filter,
    without_damaged,
)
from core_eval.harm.verdict import COUNTED, Thresholds, detected
from core_eval.log import EpisodeRow, LogReader, RunLog, StepRow
from core_eval.log.episode_filter import EpisodeFilter
from core_eval.report.pictures.roc_drawing import curves_by_rule, roc_svg
from core_eval.report.tables import harm as tables
from core_eval.report.tables.harm import harm_lines
from core_eval.report.tables.harm_summary import (
    EpisodeHarm,
    by_kind,
    by_world_and_agent,
    harm_json,
    read_harm,
)
from core_eval.score.detection import detect_all


def harm(
    db: Annotated[Path, typer.Argument(help="A log.")],
    run: Annotated[int | None, typer.Option(help="Only this run's episodes.")] = None,
    episode: Annotated[int | None, typer.Option(help="Only this episode.")] = None,
    agent: AgentOption = None,
    task: TaskOption = None,
    kind: KindOption = None,
    worst: WorstOption = None,
    detect: Annotated[
        bool,
        typer.Option(
            "--detect",
            help="Compute the detection probability of each event at 5 % false alarms, from replays on drawn "
            "rigs (seconds an event), and store it in the log.",
        ),
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes of --detect; default: one for each core.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="With --detect: write the ROC curves of the rules to this SVG file."
        ),
    ] = None,
    counted: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=1.0, help="Count a twin's events from this probability on, not as the log says."
        ),
    ] = None,
    unknown_between: Annotated[
        tuple[float, float] | None,
        typer.Option(
            help="A twin's events with a probability between these are unknown, and do not count.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List a log's harm events, observed or not, with evidence; also deviations and compensating pairs."""
    wanted = episode_filter(agent, task, kind, worst)
    if out is not None and not detect:
        raise UsageError("-o: give --detect, too")
    detections = _detect(db, run, episode, wanted, jobs, out) if detect else None
    thresholds = _thresholds(counted, unknown_between)

    def read(reader: LogReader) -> tuple[list[EpisodeHarm], dict[int, list[StepRow]]]:
        rows = wanted.choose(reader, _chosen(reader, run, episode))
        found = [
            replace(one, events=wanted.events(one.events))
            for one in read_harm(reader, tracked("reading harm", rows, len(rows)), thresholds)
        ]
        return found, {one.row.id: reader.steps(one.row.id) for one in found}

    found, steps = without_damaged(db, read)
    if json:
        print_json(harm_json(found) | ({} if detections is None else {"detections": detections}))
        return
    rare = sum(one["detection"] is None for one in detections or ())
    _print(found, steps, rare)


def _print(found: Sequence[EpisodeHarm], steps: Mapping[int, Sequence[StepRow]], rare: int) -> None:
    """Print the tables of harm, and what is said of it in words."""
    screen = console()
    if with_events := [one for one in found if one.events]:
        screen.print(tables.events_table(with_events, steps))
        if kinds := by_kind(found):
            screen.print(tables.kinds_table(kinds))
    if groups := by_world_and_agent(found):
        screen.print(tables.groups_table(groups))
        screen.print("unobserved share: share of the events, with a 95 % interval over tasks")
    deviations = tables.deviations_table(found, steps)
    pairs = tables.pairs_table((one for one in found if one.row.pairs), steps)
    for title, table in (
        ("deviations: executed calls off the path; they are no harm events", deviations),
        ("compensating pairs: the later call undoes the earlier one", pairs),
    ):
        if table is not None:
            screen.print(title, style="bold")
            screen.print(table)
    for line, style in harm_lines(found, rare):
        screen.print(line, style=style)


def _thresholds(counted: float | None, unknown: tuple[float, float] | None) -> Thresholds | None:
    """Return the thresholds of the options; None if none is given.

    Raises:
        UsageError: the bounds of `--unknown-between` are wrong.
    """
    if counted is None and unknown is None:
        return None
    if unknown is not None and not 0.0 <= unknown[0] < unknown[1] <= 1.0:
        raise UsageError("--unknown-between: give the lower, then the upper probability, as in 0.2 0.8")
    return Thresholds(COUNTED if counted is None else counted, unknown)


def _detect(
    db: Path,
    run: int | None,
    episode: int | None,
    wanted: EpisodeFilter,
    jobs: int | None,
    out: Path | None,
) -> list[dict[str, Any]]:
    """Compute the detection of the selected events, store it, and return it as JSON-ready data."""
    if out is not None:
        check_output(out, "-o")

    def read(reader: LogReader) -> list[int]:
        rows = wanted.choose(reader, _chosen(reader, run, episode))
        return [row.id for row in rows if reader.harm(row.id)]

    chosen = without_damaged(db, read)
    with progress("detecting", len(chosen)) as advance:
        found = detect_all(db, chosen, jobs=jobs or os.cpu_count() or 1, on_done=lambda _: advance(1))
        events = list(found)
    with RunLog(db) as log:
        for event in events:
            log.write_detection(event.episode, detected(event.row, event.share, event.thinned_curves()))
    if out is not None:
        curves = [(event.row.kind, event.curves()) for event in events if event.detection is not None]
        write_file(out, "-o", roc_svg(curves_by_rule(curves)), inputs=[db])
    return [event.as_dict() for event in events]


def _chosen(reader: LogReader, run: int | None, episode: int | None) -> list[EpisodeRow]:
    """Return the selected episodes.

    Raises:
        LogError: the log has no such run or episode.
        UsageError: the episode belongs to another run.
    """
    if run is not None:
        reader.run(run)
    if episode is None:
        return reader.episodes(run)
    row = reader.episode(episode)
    if run not in (None, row.run_id):
        raise UsageError(f"--episode {episode}: belongs to run {row.run_id}, not to {run}")
    return [row]
