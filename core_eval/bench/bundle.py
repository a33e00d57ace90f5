"""A bench as one file that others can check: its log, its exam, and the hashes of both and of the weights.

Its cards and its sentence are computed again from its log, whose every episode is scored again; the sizes of
models and the number of fresh episodes that it states must be those of the log. Believed are licences and the
machine. That the log is what happened is shown only for what is run again.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.errors import AgentSpecError, BackendError
from agents.names import is_baseline
from agents.options import ModelOptions
from agents.registry import model_file, parse_spec
from configs.errors import ConfigError
from configs.exam import Exam, ExamFile, ExamTaken
from configs.suite_manifest import Manifest, MeasuredSuite
from configs.suites import CORE, HAZARDS, read_suite
from configs.task_entry import TaskLimits
from configs.tasks_loader import TaskFile
from core_eval.bench.bench import FRESH_SEEDS, Bench, BenchPlan, Candidate, Picked
from core_eval.log import EpisodeRow, LogError, LogReader, RunLog
from core_eval.log.backup import backup
from core_eval.log.events import ignore
from core_eval.run.config import Cell, Place, RunConfig
from core_eval.run.plan import Run
from core_eval.run.provenance import host_info, package_versions
from core_eval.score.cards import BenchResult, Checked
from core_eval.score.rescore import rescore
from sims.world_type import WORLD_TYPES

LOG, BENCH, HASHES = "bench.db", "bench.json", "sha256.json"
SIMULATED = frozenset(f"sim:{world}" for world in WORLD_TYPES)
SHIPPED = frozenset({CORE, HAZARDS, *WORLD_TYPES})
MOST_BYTES = 2**31
"""Of all files of a bundle, unpacked."""
VERSION = 1


class BundleError(Exception):
    """A bundle is not what it says, or cannot be read; one line."""


class _Bench(BaseModel):
    """The content of `bench.json`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int
    exam: ExamTaken
    exam_file: ExamFile
    suites: tuple[MeasuredSuite, ...]
    places: tuple[Place, ...] = Field(min_length=1)
    seed: int
    first: int
    finalists: int
    share: float = Field(gt=0, lt=1)
    candidates: tuple[Candidate, ...]
    picked: Picked
    machine: dict[str, Any]
    packages: dict[str, Any]


def write_bundle(path: Path, bench: Bench, exam: Exam, picked: Picked) -> None:
    """Write the bundle of a bench that has ended.

    Raises:
        LogError: the log cannot be copied.
        OSError: the bundle cannot be written.
    """
    plan = bench.plan
    content = _Bench(
        version=VERSION,
        exam=plan.exam,
        exam_file=exam.content,
        suites=tuple(plan.suites),
        places=tuple(plan.places),
        seed=plan.seed,
        first=plan.first,
        finalists=plan.finalists,
        share=plan.share,
        candidates=tuple(bench.candidates),
        picked=picked,
        machine=host_info(),
        packages=package_versions(),
    )
    with TemporaryDirectory() as folder:
        copy = Path(folder) / LOG
        backup(bench.log, copy)
        (Path(folder) / BENCH).write_text(content.model_dump_json(indent=1), encoding="utf-8")
        hashes = {name: _sha256(Path(folder) / name) for name in (LOG, BENCH)}
        (Path(folder) / HASHES).write_text(json.dumps(hashes, indent=1), encoding="utf-8")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in (HASHES, BENCH, LOG):
                archive.write(Path(folder) / name, name)


def check_bundle(path: Path, again: int) -> Checked:
    """Score a bundle anew, and run some of its episodes again where that can be done here.

    Args:
        path: the bundle.
        again: how many episodes to run again; which ones the bundle's own hash draws.

    Raises:
        BundleError: it cannot be read, or something in it does not agree with its log.
    """
    with _unpacked(path) as folder:
        content = _read(path, folder / BENCH)
        log = folder / LOG
        try:
            _check_scores(path, log)
            _check_exam(path, content)
            notes = _check_tasks(path, content, log)
            result = _result(path, content, log)
            same = _run_again(path, log, again) if again else 0
        except (LogError, ValidationError) as error:
            why = "a run of it has another configuration" if isinstance(error, ValidationError) else error
            raise BundleError(f"{path}: its log cannot be read: {why}") from None
    return Checked(path.name, content.exam, content.suites, content.machine, result, same, notes)


@contextmanager
def _unpacked(path: Path) -> Iterator[Path]:
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise BundleError(f"{path}: is no bundle: {error}") from None
    with archive, TemporaryDirectory() as name:
        folder = Path(name)
        names = {one.filename: one for one in archive.infolist()}
        if missing := sorted({LOG, BENCH, HASHES} - names.keys()):
            raise BundleError(f"{path}: is no bundle of `pathrig bench`: it holds no {', '.join(missing)}")
        if sum(names[one].file_size for one in (LOG, BENCH, HASHES)) > MOST_BYTES:
            raise BundleError(f"{path}: is larger than {MOST_BYTES:,} bytes unpacked")
        try:
            for one in (LOG, BENCH, HASHES):
                archive.extract(one, folder)
            hashes = json.loads((folder / HASHES).read_text(encoding="utf-8"))
            wrong = [one for one in (LOG, BENCH) if hashes.get(one) != _sha256(folder / one)]
        except (OSError, ValueError, AttributeError, zipfile.BadZipFile) as error:
            raise BundleError(f"{path}: cannot be unpacked: {error}") from None
        if wrong:
            raise BundleError(f"{path}: {wrong[0]} is not the file whose hash it states")
        yield folder


def _read(path: Path, file: Path) -> _Bench:
    try:
        content = _Bench.model_validate_json(file.read_text(encoding="utf-8"))
    except (ValidationError, UnicodeDecodeError) as error:
        what = error.errors()[0]["loc"] if isinstance(error, ValidationError) else error
        raise BundleError(f"{path}: {BENCH} cannot be read: {what}") from None
    if content.version != VERSION:
        raise BundleError(f"{path}: is of version {content.version}, and this kit reads {VERSION}")
    return content


def _check_scores(path: Path, log: Path) -> None:
    """Score every episode anew.

    Raises:
        BundleError: one has other scores in the log.
    """
    for one in rescore(log):
        if one.differing:
            what = ", ".join(one.differing)
            raise BundleError(f"{path}: episode {one.episode.id}: its calls give other values of {what}")


def _check_exam(path: Path, content: _Bench) -> None:
    own = Exam(content.exam.name, content.exam_file).taken(content.suites)
    if own != content.exam:
        raise BundleError(f"{path}: exam {content.exam.digest} is not that of its keys and suites")


def _check_tasks(path: Path, content: _Bench, log: Path) -> list[str]:
    """Hold the tasks of the log against those of this kit; return what this kit does not have.

    Raises:
        BundleError: the log has other automata than the suites that it names.
    """
    known: dict[str, Any] = {}
    notes = []
    for suite in content.suites:
        # Of a suite that is a file, this kit has none: what is read here is what it ships.
        own = suite.name in SHIPPED
        found = read_suite(suite.name) if own else TaskFile((), {})
        measured = Manifest.of(suite.name, found.tasks).measured if own else None
        if measured is None or measured.digest != suite.digest:
            notes.append(f"its tasks are not known here: suite {suite.name} {suite.digest[:8]}")
        else:
            known |= {task.id: task.automaton for task in found.tasks}
    with LogReader(log) as reader:
        for run in reader.runs():
            if RunConfig.from_log(run.config).exam != content.exam:
                raise BundleError(f"{path}: run {run.id} of its log is of another exam")
        for row in reader.episodes():
            if row.task in known and reader.automaton(row) != known[row.task]:
                raise BundleError(f"{path}: episode {row.id} has another automaton than task {row.task}")
    return notes


def _result(path: Path, content: _Bench, log: Path) -> BenchResult:
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
    plan = BenchPlan(
        content.places,
        content.suites,
        content.exam,
        TaskLimits(),
        content.seed,
        content.first,
        content.finalists,
        share=content.share,
    )
    return Bench(plan, content.candidates, log, ignore_line, ignore).result(picked)


def ignore_line(_line: str) -> None:
    """Discard a line."""


def _run_again(path: Path, log: Path, count: int) -> int:
    """Run some episodes again whose agents are here; return how many came out the same.

    Raises:
        BundleError: an agent that is no model took another path.
    """
    with LogReader(log) as reader:
        cells = {
            row.id: (cell, row, run)
            for run in reader.runs()
            for row in reader.episodes(run.id)
            if (cell := _cell(RunConfig.from_log(run.config), row)) is not None
        }
    drawn = Random(_sha256(log)).sample(sorted(cells), min(count, len(cells)))
    same = 0
    for number in drawn:
        cell, row, run = cells[number]
        config = RunConfig.from_log(run.config)
        own = RunConfig(cells=(cell,), seed=row.seed, limits=config.limits, streams=config.streams)
        with TemporaryDirectory() as folder:
            copy = Path(folder) / LOG
            try:
                with RunLog(copy) as written:
                    Run.of(own, written).start()
            except (AgentSpecError, BackendError, ConfigError):
                continue
            with LogReader(copy) as reader:
                (now,) = reader.episodes()
        if now.fingerprint == row.fingerprint:
            same += 1
        elif model_file(cell.agent) is None:
            raise BundleError(f"{path}: episode {row.id}, run again, took another path than its log says")
    return same


def _cell(config: RunConfig, row: EpisodeRow) -> Cell | None:
    """Return what an episode is run again by; None where it cannot be here.

    Nothing that a bundle names is read or started but what the kit ships, and the model of that very hash.
    """
    place = row.number // config.episodes
    if not 0 <= place < len(config.cells):
        return None
    cell = config.cells[place]
    if row.fingerprint is None or cell.rig not in SIMULATED or "#" in cell.task or Path(cell.task).exists():
        return None
    if is_baseline(cell.agent):
        return cell
    try:
        parsed = parse_spec(cell.agent)
    except (AgentSpecError, ConfigError):
        return None
    file = model_file(cell.agent)
    if file is None or parsed.name != "llama" or parsed.options is None or _names_files(parsed.options):
        return None
    return cell if file.is_file() and _sha256(file) == row.agent_info.get("sha256") else None


def _names_files(options: ModelOptions) -> bool:
    return any(isinstance(getattr(options, name), Path) for name in options.model_fields_set)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
