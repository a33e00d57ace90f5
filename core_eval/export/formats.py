"""The table of formats, and the export itself."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from core_eval.export import (
    csv_files,
    datasette,
    inspect_logs,
    jsonl,
    lerobot,
    mcap_files,
    openai_messages,
    otel,
    paper_tables,
    parquet,
    rrd,
)
from core_eval.export.common import ExportError, missing_library
from core_eval.log import LogReader, Tracked, untracked


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format.

    Attributes:
        name: as in `--format NAME`.
        write: writes the episodes of these ids to a path that does not exist yet, and shows its progress.
        folder: whether it writes a folder of files; else one file.
        needs: the library that it writes by, and the extra that has it.
        own: a file by which its folder is known, where it also writes folders, which are replaced as a whole.
    """

    name: str
    write: Callable[[LogReader, Sequence[int], Path, Tracked], None]
    folder: bool
    needs: tuple[str, str] | None = None
    own: str | None = None


FORMATS = (
    ExportFormat("csv", csv_files.write, folder=True),
    ExportFormat("jsonl", jsonl.write, folder=False),
    ExportFormat("parquet", parquet.write, folder=True, needs=("pyarrow", "export")),
    ExportFormat("openai", openai_messages.write, folder=False),
    ExportFormat("otel", otel.write, folder=False),
    ExportFormat("inspect", inspect_logs.write, folder=True),
    ExportFormat("mcap", mcap_files.write, folder=True, needs=("mcap.writer", "export")),
    ExportFormat("rrd", rrd.write, folder=True, needs=("rerun", "rrd")),
    ExportFormat("lerobot", lerobot.write, folder=True, needs=("pyarrow", "export"), own=lerobot.INFO),
    ExportFormat("paper", paper_tables.write, folder=True),
    ExportFormat("datasette", datasette.write, folder=False),
)


def export(
    log: LogReader, run_id: int | None, form: ExportFormat, path: Path, tracked: Tracked = untracked
) -> int:
    """Write a run, or all runs, and return the number of episodes.

    The files replace existing ones of the same name when all of them are complete.

    Raises:
        LogError: there is no such run, or the log cannot be read.
        ExportError: the path is the log or of the wrong kind, or a library is missing.
        OSError: a file cannot be written.
    """
    if run_id is not None:
        log.run(run_id)
    _check(log, form, path)
    if form.needs is not None:
        try:
            import_module(form.needs[0])
        except ImportError as error:
            raise missing_library(form.name, error, form.needs[1]) from None
    ids = log.episode_ids(run_id)
    with tempfile.TemporaryDirectory(dir=path.absolute().parent, prefix=".export.") as folder:
        written = Path(folder) / "export"
        if form.folder:
            written.mkdir()
        form.write(log, ids, written, tracked)
        if form.folder:
            path.mkdir(exist_ok=True)
            for file in sorted(written.iterdir()):
                if file.is_dir():
                    shutil.rmtree(path / file.name, ignore_errors=True)
                file.replace(path / file.name)
        else:
            written.replace(path)
    return len(ids)


def _check(log: LogReader, form: ExportFormat, path: Path) -> None:
    if not path.absolute().parent.is_dir():
        raise ExportError(f"-o {path}: there is no folder {path.absolute().parent}; create it first")
    if form.folder and path.exists() and not path.is_dir():
        raise ExportError(f"-o {path}: --format {form.name} writes a folder, and this is a file")
    if not form.folder and path.is_dir():
        raise ExportError(f"-o {path}: is a folder; --format {form.name} writes a file")
    if form.own is not None and path.exists() and not (path / form.own).exists() and any(path.iterdir()):
        raise ExportError(f"-o {path}: holds other files, and --format {form.name} needs a folder of its own")
    if path.exists() and path.samefile(log.path):
        raise ExportError(f"-o {path}: is the log itself; name another file")
