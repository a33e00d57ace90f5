"""What a cut left: the run that a rig is given is noted on the disk before it begins, and until it has ended.

Its worker holds a lock on the note, so that a worker that outlives its service is not taken for a dead one.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from core_eval.log import EpisodeRow, LogError, LogReader, RunLog
from devices.models import FrozenModel


class Work(FrozenModel):
    """A run that a rig is given.

    Attributes:
        entry: the schedule's entry.
        options: the arguments of `run` that the entry stood for.
        seed: with which they were made.
        begun: when, s since the epoch.
        log: the log's file name.
        before: the id of the log's last run before this one.
    """

    entry: str
    options: tuple[str, ...]
    seed: int
    begun: float
    log: str
    before: int


class WorkNote:
    """The note of one rig, `.work.json` in the folder of its logs."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / ".work.json"

    def write(self, work: Work) -> int:
        """Write a note to the disk; return its locked descriptor, for the worker to hold.

        Raises:
            BlockingIOError: a process of an earlier worker still holds it.
            OSError: it cannot be written.
        """
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.truncate(descriptor, 0)
            os.pwrite(descriptor, work.model_dump_json().encode(), 0)
            os.fsync(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def remove(self) -> None:
        """Remove the note: its run has ended."""
        self.path.unlink(missing_ok=True)

    def held(self) -> bool:
        """Return whether its worker still lives."""
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def read(self) -> Work | None:
        """Return what it says; None where there is none, or the power was cut while it was written."""
        with suppress(OSError, ValidationError):
            return Work.model_validate_json(self.path.read_bytes())
        return None

    def log(self) -> Path | None:
        """Return the log of the run that it tells of."""
        work = self.read()
        return None if work is None else self.path.parent / work.log


@dataclass(frozen=True)
class CutRun:
    """A run that has not ended.

    Attributes:
        last: its last episode; None: it was cut before its first one, as far as the log tells.
        resumable: whether `run --resume` would take up this one.
    """

    last: EpisodeRow | None = None
    resumable: bool = False

    def told(self, log: Path) -> str:
        """Return where it was cut, and what is known of its rig."""
        if self.last is None:
            return f"before its first episode, as far as {log} tells"
        if self.last.status in ("completed", "stopped"):
            return f"after episode {self.last.id} of {log}"
        known = {"confirmed": "its rig's stop was confirmed", None: "whether its rig stopped is not known"}
        stop = known.get(self.last.stop, "its rig's stop was not confirmed")
        return f"in episode {self.last.id} ({self.last.task}, {self.last.agent}) of {log}; {stop}"


def last_run(log: Path) -> int:
    """Return the id of a log's last run; 0 where it has none, or cannot be read."""
    if not log.is_file():
        return 0
    try:
        with LogReader(log) as reader:
            (last,) = reader.connection.execute("SELECT coalesce(max(id), 0) FROM run").fetchone()
            return int(last)
    except LogError:
        return 0


def cut_run(log: Path, before: int) -> CutRun | None:
    """Return the run after this one, its episodes of dead processes marked as such; None: it has ended.

    Raises:
        LogError: the log cannot be read.
    """
    if not log.is_file():
        return CutRun()
    RunLog(log).close()
    with LogReader(log) as reader:
        run = next((run for run in reader.runs() if run.id > before), None)
        if run is None or run.ended is not None:
            return CutRun() if run is None else None
        unfinished = [other.id for other in reader.unfinished_runs()]
        if run.id not in unfinished:
            return CutRun()
        return CutRun(reader.episodes(run.id)[-1], resumable=run.id == unfinished[0])
