"""A bench as one file that others can check: its log, its exam, and the hashes of both and of the weights."""

from __future__ import annotations

import json
import lzma
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from configs.exam import Exam, ExamFile, ExamTaken
from configs.suite_manifest import MeasuredSuite
from core_eval.bench.bench import BenchPlan, Candidate, Picked
from core_eval.log.backup import backup
from core_eval.run.config import Place
from core_eval.run.provenance import host_info, package_versions
from core_eval.text.file_hash import sha256_of
from core_eval.text.foreign_json import ForeignJsonError, parse_json

LOG, BENCH, HASHES = "bench.db", "bench.json", "sha256.json"
MOST_BYTES = 2**31
"""Of all files of a bundle, unpacked."""
MOST_TEXT = 2**24
"""Of each of those but the log."""
MOST_LEVELS = 16
"""Of a factor, and factors of a sweep."""
VERSION = 1
UNREADABLE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError)
"""What a damaged, encrypted or unknown archive raises; NotImplementedError is a RuntimeError."""
NONE_PICKED = Picked((), {}, 0, 0)


class BundleError(Exception):
    """A bundle is not what it says, or cannot be read; one line."""


class SweptContent(BaseModel):
    """What a sweep changed, and how many episodes each model has at each of its settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    models: tuple[str, ...] = Field(min_length=1)
    factors: dict[str, Annotated[tuple[str, ...], Field(min_length=2, max_length=MOST_LEVELS)]] = Field(
        min_length=1, max_length=MOST_LEVELS
    )
    options: dict[str, dict[str, Any]]
    episodes: tuple[int, ...]


class BundleContent(BaseModel):
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
    sweep: SweptContent | None = None
    machine: dict[str, Any]
    packages: dict[str, Any]


def content_of(
    plan: BenchPlan,
    exam: Exam,
    candidates: Sequence[Candidate] = (),
    picked: Picked = NONE_PICKED,
    sweep: SweptContent | None = None,
) -> BundleContent:
    """Return the content of a bench that has ended, or of a sweep."""
    return BundleContent(
        version=VERSION,
        exam=plan.exam,
        exam_file=exam.content,
        suites=tuple(plan.suites),
        places=tuple(plan.places),
        seed=plan.seed,
        first=plan.first,
        finalists=plan.finalists,
        share=plan.share,
        candidates=tuple(candidates),
        picked=picked,
        sweep=sweep,
        machine=host_info(),
        packages=package_versions(),
    )


def write_bundle(path: Path, log: Path, content: BundleContent) -> None:
    """Write a bundle.

    Raises:
        LogError: the log cannot be copied.
        OSError: the bundle cannot be written.
    """
    with TemporaryDirectory() as folder:
        copy = Path(folder) / LOG
        backup(log, copy)
        (Path(folder) / BENCH).write_text(content.model_dump_json(indent=1), encoding="utf-8")
        hashes = {name: sha256_of(Path(folder) / name) for name in (LOG, BENCH)}
        (Path(folder) / HASHES).write_text(json.dumps(hashes, indent=1), encoding="utf-8")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in (HASHES, BENCH, LOG):
                archive.write(Path(folder) / name, name)


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Unpack a bundle into a folder of its own, and hold its files against their hashes.

    Raises:
        BundleError: it is none, is too large, or a file has another hash.
    """
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
        if large := [one for one in (BENCH, HASHES) if names[one].file_size > MOST_TEXT]:
            raise BundleError(f"{path}: {large[0]} is larger than {MOST_TEXT:,} bytes unpacked")
        try:
            for one in (LOG, BENCH, HASHES):
                archive.extract(one, folder)
            hashes = parse_json((folder / HASHES).read_bytes())
            stated = hashes if isinstance(hashes, dict) else {}
            wrong = [one for one in (LOG, BENCH) if stated.get(one) != sha256_of(folder / one)]
        except (OSError, ValueError, ForeignJsonError, *UNREADABLE) as error:
            raise BundleError(f"{path}: cannot be unpacked: {error}") from None
        if wrong:
            raise BundleError(f"{path}: {wrong[0]} is not the file whose hash it states")
        yield folder


def read_content(path: Path, file: Path) -> BundleContent:
    """Read the content of a bundle at `path` from its unpacked file.

    Raises:
        BundleError: it cannot be read, or is of another version.
    """
    try:
        content = BundleContent.model_validate_json(file.read_text(encoding="utf-8"))
    except (ValidationError, UnicodeDecodeError) as error:
        what = error.errors()[0]["loc"] if isinstance(error, ValidationError) else error
        raise BundleError(f"{path}: {BENCH} cannot be read: {what}") from None
    if content.version != VERSION:
        raise BundleError(f"{path}: is of version {content.version}, and this kit reads {VERSION}")
    return content
