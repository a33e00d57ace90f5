"""Runs a schedule for months: a worker process a rig, logs by day, signs of life, truthful stops.

Each run is a process of its own, so that no leak, crash or hang of one stays; this one only counts, waits and
starts. It ends by a signal: then it has each worker stop its rig, and waits until they have.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core_eval.log import LogError
from core_eval.rig.signals import StopRequested, StopSignals
from core_eval.serve.cut_work import CutRun, Work, WorkNote, cut_run, last_run
from core_eval.serve.day_files import day_of, outdated, remove, to_copy
from core_eval.serve.notify import Notifier
from core_eval.serve.serve_file import DAY, Entry, Keep, Schedule, next_start
from core_eval.serve.transfer import Sent

TICK = 0.25
"""s between two looks at the workers."""
STOP_SECONDS = 90.0
"""For workers to stop their rigs after a signal; the keepers of those that are killed then stop them."""
STATUS_SECONDS = 60.0
"""Between two writings of an unchanged status."""
TIDY_SECONDS = 600.0
"""Between two looks at old logs."""
DONE, MISSED, BAD_INPUT, FAILED, SILENT = 0, 1, 2, 3, 4
"""Exit statuses of a worker; the last: its rig did not answer when it was asked."""
STOPPED = frozenset({129, 130, 131, 143, -signal.SIGTERM})
"""The same of a worker that a signal ended in order, or before it had opened its rig."""
MEANING = {
    DONE: "done",
    MISSED: "missed a threshold",
    BAD_INPUT: "bad input",
    FAILED: "failed",
    SILENT: "the rig does not answer",
}


@dataclass(frozen=True)
class Commands:
    """What the service starts, as words of a command.

    Attributes:
        work: a run, of a rig's reference, whether it is asked first, and the arguments of `run`.
        copy: a copy of a log.
        send: sends finished episodes to the collector; of the schedule's file.
    """

    work: Callable[[str, bool, Sequence[str]], list[str]]
    copy: Callable[[Path, Path], list[str]]
    send: Callable[[Path], list[str]]


@dataclass(frozen=True)
class Job:
    """A run that is due; of one that was cut what its note says, and the arguments with which it goes on."""

    entry: Entry
    cut: Work | None = None
    words: Sequence[str] = ()


@dataclass
class Worker:
    """One rig, what it does, and what waits for it; `left`: an earlier service's note is not read yet."""

    rig: str
    ask: bool
    note: WorkNote
    left: bool
    state: str = "idle"
    job: Job | None = None
    process: subprocess.Popen[bytes] | None = None
    begun: float = 0.0
    asked_to_end: float | None = None
    not_before: float = 0.0
    waiting: deque[Job] = field(default_factory=deque)
    counts: dict[str, int] = field(
        default_factory=lambda: {"runs": 0, "failed": 0, "silent": 0, "missed": 0, "cut": 0}
    )
    last: dict[str, Any] | None = None


class Service:
    """The schedule at work."""

    def __init__(self, schedule: Schedule, commands: Commands, notifier: Notifier) -> None:
        self._schedule, self._commands, self._notifier = schedule, commands, notifier
        self._keys = schedule.keys
        self.folder = schedule.folder
        notes = {name: WorkNote(self.folder / name) for name in schedule.rigs}
        self.workers = {
            name: Worker(ref, ask, notes[name], left=notes[name].path.exists())
            for name, (ref, ask) in schedule.rigs.items()
        }
        self._due: dict[str, float] = {}
        self._helpers: dict[str, subprocess.Popen[bytes]] = {}
        self._copies: list[tuple[Path, Path]] = []
        self._to_send = self._keys.collector is not None
        self._sent = self._tidied = self._written = -1e9
        self._shown = ""
        self._started = time.time()
        self._stopping = ""

    def run(self) -> int:
        """Run until a signal comes; return the exit status: 3 where a rig may not be stopped."""
        for name in self.workers:
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        with StopSignals() as signals:
            self._status()
            self._notifier.tell(READY="1", STATUS=f"{len(self.workers)} rigs")
            try:
                while True:
                    self._tick()
                    with signals.interruptible():
                        time.sleep(TICK)
            except StopRequested as stop:
                return self._stop(stop.exit_status)
            finally:
                # Whatever ended the loop: no worker is left behind without a word.
                self._end_all(signal.SIGTERM)

    def _tick(self) -> None:
        for name, worker in self.workers.items():
            if worker.left:
                self._look_at_note(name, worker)
        self._plan()
        for name, worker in self.workers.items():
            self._look_after(name, worker)
        self._start_what_waits()
        self._help()
        self._status()
        self._notifier.beat()

    def _plan(self) -> None:
        """Queue what is due, once for each rig; what still waits has missed its time."""
        now = time.time()
        for entry in self._keys.schedule:
            due = self._due.get(entry.name)
            if due is None or due > now + (entry.every or DAY) + DAY / 12:
                # The first time, or the clock was set back.
                due = self._due[entry.name] = next_start(entry, now, None)
            if now < due:
                continue
            self._due[entry.name] = next_start(entry, now, due)
            for name in self._schedule.work(entry):
                worker = self.workers[name]
                if any(job is not None and job.entry is entry for job in (worker.job, *worker.waiting)):
                    worker.counts["missed"] += 1
                else:
                    worker.waiting.append(Job(entry))

    def _look_at_note(self, name: str, worker: Worker) -> None:
        """Tell of a run that was cut while an earlier service gave it, and have it gone on with or left."""
        if worker.note.held():
            worker.state = "its last worker ends"
            return
        worker.left, worker.state = False, "idle"
        work = worker.note.read()
        if work is None:
            self._tell_cut(name, worker, "", "a run was cut", "its note cannot be read: it is left")
            return
        log = self.folder / name / work.log
        try:
            cut = cut_run(log, work.before)
        except LogError as error:
            self._tell_cut(name, worker, work.entry, f"{work.entry}: was cut", f"it is left: {error}")
            return
        if cut is None:
            worker.note.remove()
            return
        job, told = self._after(work, cut, ask=worker.ask)
        self._tell_cut(name, worker, work.entry, f"{work.entry}: was cut {cut.told(log)}", told, job)

    def _after(self, work: Work, cut: CutRun, *, ask: bool) -> tuple[Job | None, str]:
        """Return what is done of a cut run, and in words."""
        entry = next((one for one in self._keys.schedule if one.name == work.entry), None)
        if entry is None or tuple(self._schedule.options(entry, work.seed)) != work.options:
            return None, "it is left: its entry is not as it was"
        policy = entry.after_cut or ("leave" if ask else "repeat")
        if policy == "leave":
            return None, "it is left (after_cut: leave)"
        if time.time() - work.begun > self._keys.longest:
            return None, "it is left: it began longer ago than a run may take"
        if cut.last is None:
            return Job(entry, work, work.options), "it begins anew"
        if not cut.resumable:
            return None, "it is left: the log has a later run that is not complete"
        what = "cut episode, from its start" if policy == "repeat" else "next episode"
        return Job(entry, work, entry.resumed(policy == "repeat")), f"it goes on with the {what}"

    def _tell_cut(
        self, name: str, worker: Worker, entry: str, what: str, told: str, job: Job | None = None
    ) -> None:
        worker.counts["cut"] += 1
        worker.last = {"entry": entry, "outcome": f"cut: {told}"}
        print(f"{name}: {what}; {told}", flush=True)
        if job is None:
            worker.note.remove()
        else:
            worker.waiting.appendleft(job)

    def _start_what_waits(self) -> None:
        now = time.monotonic()
        busy = sum(worker.process is not None for worker in self.workers.values())
        ready = [
            (name, worker)
            for name, worker in self.workers.items()
            if worker.process is None and worker.waiting and worker.not_before <= now and not worker.left
        ]
        # Those that have not worked for longest go first.
        for name, worker in sorted(ready, key=lambda pair: pair[1].begun)[: self._keys.at_once - busy]:
            self._start(name, worker)

    def _start(self, name: str, worker: Worker) -> None:
        job = worker.job = worker.waiting.popleft()
        work = job.cut or self._new_work(name, job.entry)
        log = self.folder / name / work.log
        words = [f"--rig={worker.rig}", f"--db={log}", *(job.words or work.options)]
        worker.begun, worker.asked_to_end = time.monotonic(), None
        try:
            lock = worker.note.write(work)
            try:
                worker.process = self._open(
                    self._commands.work(worker.rig, worker.ask, words), log.with_suffix(".log"), lock
                )
            finally:
                os.close(lock)
        except OSError as error:
            # Too little memory or too many processes, perhaps not for long.
            print(f"{name}: {job.entry.name}: cannot be started: {error.strerror}", flush=True)
            worker.job = None
            worker.waiting.appendleft(job)
            worker.not_before = worker.begun + self._keys.ask_again
        else:
            worker.state = "works"

    def _new_work(self, name: str, entry: Entry) -> Work:
        now = time.time()
        log = f"{day_of(now)}.db"
        return Work(
            entry=entry.name,
            options=tuple(self._schedule.options(entry, int(now))),
            seed=int(now),
            begun=now,
            log=log,
            before=last_run(self.folder / name / log),
        )

    def _open(self, words: list[str], output: Path, *locks: int) -> subprocess.Popen[bytes]:
        with output.open("ab") as file:
            # In a session of its own: a terminal's signal reaches it through this process alone.
            return subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
                pass_fds=locks,
            )

    def _look_after(self, name: str, worker: Worker) -> None:
        """Take note of a worker that has ended, and end one that takes too long."""
        process, now = worker.process, time.monotonic()
        if process is None or worker.job is None:
            return
        status = process.poll()
        if status is None:
            if worker.asked_to_end is None and now - worker.begun > self._keys.longest:
                process.terminate()
                worker.asked_to_end = now
            elif worker.asked_to_end is not None and now - worker.asked_to_end > STOP_SECONDS:
                process.kill()
            return
        job, worker.process, worker.job = worker.job, None, None
        told = "stopped" if status in STOPPED else MEANING.get(status, f"ended with {status}")
        worker.last = {
            "entry": job.entry.name,
            "ended": round(time.time(), 3),
            "seconds": round(now - worker.begun, 3),
            "status": status,
            "outcome": told,
        }
        worker.state = "idle"
        if status == SILENT:
            worker.counts["silent"] += 1
            worker.state = "does not answer"
            worker.not_before = now + self._keys.ask_again
            if job.cut is not None or all(other.entry is not job.entry for other in worker.waiting):
                worker.waiting.appendleft(job)
        else:
            worker.counts["runs"] += 1
            worker.counts["failed"] += status not in (DONE, MISSED, *STOPPED)
            self._to_send |= self._keys.collector is not None
        # What waits for its rig, or was ended with this service, is not over.
        if not (status == SILENT and job.cut is not None) and not (status in STOPPED and self._stopping):
            worker.note.remove()
        if status not in (DONE, MISSED, *STOPPED):
            print(f"{name}: {job.entry.name}: {told}: see {self._log_of(name)}", flush=True)

    def _log_of(self, name: str) -> Path:
        return self.folder / name / f"{day_of(time.time())}.log"

    def _help(self) -> None:
        """Send, copy and delete, one process each at a time."""
        now = time.monotonic()
        for kind, process in list(self._helpers.items()):
            if (status := process.poll()) is not None:
                del self._helpers[kind]
                if status:
                    print(f"{kind}: ended with {status}: see {self.folder / f'{kind}.log'}", flush=True)
                    self._to_send |= kind == "send"
        collector = self._keys.collector
        wanted = self._to_send or (collector is not None and now - self._sent > collector.every)
        pause = 0.0 if collector is None else min(collector.every, 5.0)
        if collector is not None and wanted and "send" not in self._helpers and now - self._sent > pause:
            self._to_send, self._sent = False, now
            self._begin("send", self._commands.send(self._schedule.path))
        if now - self._tidied > TIDY_SECONDS:
            self._tidied = now
            self._tidy()
        if self._copies and "backup" not in self._helpers:
            source, copy = self._copies.pop(0)
            copy.parent.mkdir(parents=True, exist_ok=True)
            self._begin("backup", self._commands.copy(source, copy))

    def _begin(self, kind: str, words: list[str]) -> None:
        output = self.folder / f"{kind}.log"
        if output.is_file() and output.stat().st_size > 1_000_000:
            output.replace(output.with_suffix(".log.1"))
        try:
            self._helpers[kind] = self._open(words, output)
        except OSError as error:
            print(f"{kind}: cannot be started: {error.strerror}", flush=True)

    def _tidy(self) -> None:
        """Delete what the file's rules no longer keep, and find what is to be copied."""
        now, keep, backup = time.time(), self._keys.keep, self._keys.backup
        going = self._outdated(now, keep)
        if backup is not None:
            target = self._schedule.path.parent / backup.folder
            try:
                target.mkdir(parents=True, exist_ok=True)
                if not self._copies:
                    self._copies = to_copy(self.folder, target, now)
                going += outdated(target, now, backup.days, None)
            except OSError as error:
                print(f"backup: {target}: {error.strerror}", flush=True)
        for path in going:
            with suppress(OSError):
                remove(path)
                print(f"deleted {path}, as the schedule's file says", flush=True)

    def _outdated(self, now: float, keep: Keep) -> list[Path]:
        """Return the files that go; what the collector has not acknowledged stays."""
        noted = [log for worker in self.workers.values() if (log := worker.note.log()) is not None]
        if self._keys.collector is None:
            return outdated(self.folder, now, keep.days, keep.megabytes, noted)
        known: dict[Path, bool] = {}
        with Sent(self.folder) as sent:
            while True:
                kept = noted + [log for log, left in known.items() if left]
                going = outdated(self.folder, now, keep.days, keep.megabytes, kept)
                new = {path.with_suffix(".db") for path in going} - known.keys()
                if not new:
                    return going
                known |= {log: log.is_file() and bool(sent.left(log)) for log in new}

    def _status(self) -> None:
        """Write the status file where something has changed, or a minute has gone."""
        found = {
            "stopping": self._stopping,
            "rigs": {
                name: {
                    "state": worker.state,
                    "entry": None if worker.job is None else worker.job.entry.name,
                    "waiting": [job.entry.name for job in worker.waiting],
                    **worker.counts,
                    "last": worker.last,
                }
                for name, worker in self.workers.items()
            },
            "next": {name: round(due, 3) for name, due in self._due.items()},
            "helpers": sorted(self._helpers),
        }
        text = json.dumps(found)
        if text == self._shown and time.monotonic() - self._written < STATUS_SECONDS:
            return
        self._shown, self._written = text, time.monotonic()
        whole = {"started": self._started, "written": round(time.time(), 3), **found}
        part = self.folder / ".status.json.tmp"
        # A full disk must not end the service: the rigs' own logs tell of it.
        with suppress(OSError):
            part.write_text(json.dumps(whole, indent=2), encoding="utf-8")
            part.replace(self.folder / "status.json")
        at_work = [name for name, worker in self.workers.items() if worker.process is not None]
        silent = [name for name, worker in self.workers.items() if worker.state == "does not answer"]
        words = f"{len(at_work)} of {len(self.workers)} rigs work"
        words += f"; no answer from {', '.join(silent)}" if silent else ""
        self._notifier.tell(STATUS=self._stopping or words)

    def _stop(self, exit_status: int) -> int:
        """Have all workers stop their rigs; return the exit status."""
        self._stopping = "stopping the rigs"
        self._notifier.tell(STOPPING="1", STATUS=self._stopping)
        unsafe = self._end_all(signal.SIGTERM)
        self._stopping = f"stopped; not confirmed by {', '.join(unsafe)}" if unsafe else "stopped"
        self._status()
        for name in unsafe:
            print(f"{name}: the rig may not be stopped: see {self._log_of(name)}", flush=True)
        return FAILED if unsafe else exit_status

    def _end_all(self, signum: int) -> list[str]:
        """End all workers and helpers, and wait for them; return the rigs whose stop was not confirmed."""
        self._stopping = self._stopping or "stopping the rigs"
        at_work = {name: one.process for name, one in self.workers.items() if one.process is not None}
        all_of_them = [*at_work.values(), *self._helpers.values()]
        for process in all_of_them:
            with suppress(ProcessLookupError):
                process.send_signal(signum)
        deadline = time.monotonic() + STOP_SECONDS
        while any(process.poll() is None for process in all_of_them):
            self._notifier.beat()
            if time.monotonic() > deadline:
                for process in all_of_them:
                    process.kill()
            time.sleep(TICK / 5)
        unsafe = [
            name for name, process in at_work.items() if process.returncode in (FAILED, -signal.SIGKILL)
        ]
        for name in at_work:
            self._look_after(name, self.workers[name])
        self._helpers.clear()
        return unsafe
