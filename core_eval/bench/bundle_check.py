"""Checks of a bundle: everything in it that its log can show is computed again.

Its cards and its sentence are computed again from its log, whose every episode is scored again; the sizes of
models and the number of fresh episodes that it states must be those of the log. Believed are licences and the
machine. That the log is what happened is shown only for what is run again.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from configs.exam import Exam
from configs.task_entry import TaskLimits
from core_eval.bench.bench import FRESH_SEEDS, Bench, BenchPlan, no_line
from core_eval.bench.bundle import BENCH, LOG, BundleContent, BundleError, read_content, unpacked
from core_eval.bench.bundle_rerun import run_again
from core_eval.bench.bundle_tasks import check_tasks
from core_eval.bench.sweep import Sweep, Swept
from core_eval.log import LogError, LogReader, ignore
from core_eval.log.verified import verify
from core_eval.score.cards import BenchResult, Checked
from core_eval.score.rescore import rescore
from core_eval.score.sweep import effects, sentence, settings


def check_bundle(path: Path, again: int) -> Checked:
    """Score a bundle anew, and run some of its episodes again where that can be done here.

    Args:
        path: the bundle.
        again: how many episodes to run again; which ones the bundle's own hash draws.

    Raises:
        BundleError: it cannot be read, or something in it does not agree with its log.
    """
    with unpacked(path) as folder:
        content = read_content(path, folder / BENCH)
        log = folder / LOG
        try:
            signed = _check_chains(path, log)
            _check_scores(path, log)
            _check_exam(path, content)
            swept = _sweep_of(path, content, log)
            exams = [content.exam] if swept is None else swept.exams(content.suites)
            notes = [signed, *check_tasks(path, content, log, exams)]
            result, found = _result(path, content, log), []
            if swept is not None and content.sweep is not None:
                rows = _swept_rows(path, content, swept, log)
                found = effects(swept.factors, rows)
                result = BenchResult(swept.cards(rows), sentence(found))
            same = run_again(path, log, again) if again else 0
        except (LogError, ValidationError) as error:
            why = "a run of it has another configuration" if isinstance(error, ValidationError) else error
            raise BundleError(f"{path}: its log cannot be read: {why}") from None
    return Checked(path.name, content.exam, content.suites, content.machine, result, same, notes, found)


def _check_chains(path: Path, log: Path) -> str:
    """Verify the log; return who signed it.

    Raises:
        BundleError: a row does not fit.
    """
    evidence = verify(log)
    if evidence.misfit is not None:
        raise BundleError(f"{path}: its log is not what its runs wrote: {evidence.misfit}")
    keys = sorted({run.key or "nobody, in part" for run in evidence.runs})
    return f"its log is signed by {', '.join(keys)}"


def _check_scores(path: Path, log: Path) -> None:
    """Score every episode anew.

    Raises:
        BundleError: one has other scores in the log.
    """
    for one in rescore(log):
        if one.differing:
            what = ", ".join(one.differing)
            raise BundleError(f"{path}: episode {one.episode.id}: its calls give other values of {what}")


def _check_exam(path: Path, content: BundleContent) -> None:
    own = Exam(content.exam.name, content.exam_file).taken(content.suites)
    if own != content.exam:
        raise BundleError(f"{path}: exam {content.exam.digest} is not that of its keys and suites")


def _sweep_of(path: Path, content: BundleContent, log: Path) -> Sweep | None:
    """Return the sweep of a bundle; None of a bench.

    Raises:
        BundleError: it has more settings than its log has runs, or other numbers of them.
    """
    told = content.sweep
    if told is None:
        return None
    exam = Exam(content.exam.name, content.exam_file)
    values = {(name, level): one for name, levels in told.options.items() for level, one in levels.items()}
    swept = Sweep(exam, {(model, ""): "" for model in told.models}, told.factors, values)
    with LogReader(log) as reader:
        runs = len(reader.runs())
    if not len(told.episodes) == len(settings(told.factors)) <= runs:
        raise BundleError(f"{path}: the settings of its sweep are not those of its log")
    return swept


def _swept_rows(path: Path, content: BundleContent, swept: Sweep, log: Path) -> Swept:
    """Return the episodes of a sweep.

    Raises:
        BundleError: a model has none, or all have fewer than are counted.
    """
    counts = content.sweep.episodes if content.sweep is not None else ()
    with LogReader(log) as reader:
        most = len(reader.episodes())
    # What a bundle says of itself must not set how long its check takes.
    rows = swept.rows(_plan(content), log, [min(count, most) for count in counts])
    for model in swept.names:
        if not any(own for (name, _), own in rows.items() if name == model):
            raise BundleError(f"{path}: its log has no episode of {model}")
    for setting, count in zip(settings(swept.factors), counts, strict=True):
        most = max(len(rows[model, setting]) for model in swept.names)
        # A model may have failed at a setting; then others did not.
        if most != count and most:
            raise BundleError(
                f"{path}: {swept.words(setting)} has {most} fresh episodes, and {count} are counted"
            )
    return rows


def _result(path: Path, content: BundleContent, log: Path) -> BenchResult:
    """Return cards and sentence.

    Raises:
        BundleError: a size, or the number of fresh episodes, is not that of the log.
    """
    picked = content.picked
    with LogReader(log) as reader:
        rows = reader.episodes()
    for one in content.candidates:
        own = [row for row in rows if row.agent == one.name]
        if any(row.agent_info.get("bytes", one.size) != one.size for row in own):
            raise BundleError(f"{path}: the size of {one.name} is not that of its log")
        if one.name in picked.finalists:
            fresh = len({(row.task, row.seed) for row in own if row.seed >= content.seed + FRESH_SEEDS})
            if fresh != picked.fresh:
                raise BundleError(
                    f"{path}: {one.name} has {fresh} fresh episodes, and {picked.fresh} are counted"
                )
    return Bench(_plan(content), content.candidates, log, no_line, ignore).result(picked)


def _plan(content: BundleContent) -> BenchPlan:
    return BenchPlan(
        content.places,
        content.suites,
        content.exam,
        TaskLimits(),
        content.seed,
        content.first,
        content.finalists,
        share=content.share,
    )
