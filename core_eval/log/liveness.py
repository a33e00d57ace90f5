"""Marks unfinished episodes as `aborted` if the process that wrote them has ended."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from core_eval.log.chain import Part, add_record, is_chained
from core_eval.log.connection import transaction
from core_eval.log.schema import OF_ITS_STEPS


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """Identifies a process beyond its id, which the system reuses.

    Attributes:
        pid: the process id.
        start: its start in the kernel's clock ticks since boot; empty where the system does not report it.
        boot_id: this boot of the machine; empty where the system does not report it.
    """

    pid: int
    start: str
    boot_id: str

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity:
        """Return the identity of the process that has this number now."""
        return cls(pid, _start(pid), _boot_id())

    @classmethod
    def mine(cls) -> ProcessIdentity:
        """Return the identity of this process."""
        return cls.of(os.getpid())

    def alive(self) -> bool:
        """Return whether this very process still runs on this machine."""
        if self.boot_id != _boot_id():
            return False
        if self.start:
            return self.start == _start(self.pid)
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


ABORTED = "its process died"
ENDED_SQL = (
    "(SELECT max(started, coalesce(max(t_intent), 0), coalesce(max(t_result), 0)) FROM step"
    " WHERE episode_id = episode.id)"
)
"""The end of an aborted episode: the time of its last row."""


def mark_aborted(connection: sqlite3.Connection) -> list[int]:
    """Mark running episodes whose process has ended; return their ids."""
    running = connection.execute(
        "SELECT id, pid, process_start, boot_id FROM episode WHERE status = 'running'"
    ).fetchall()
    dead = [row[0] for row in running if not ProcessIdentity(row[1], row[2], row[3]).alive()]
    for episode in dead:
        with transaction(connection):
            marked = connection.execute(
                f"UPDATE episode SET status = 'aborted', error = ?, ended = {ENDED_SQL}"
                " WHERE id = ? AND status = 'running'",
                (ABORTED, episode),
            )
            connection.execute(f"{OF_ITS_STEPS} WHERE id = ?", (episode,))
            if marked.rowcount and is_chained(connection, episode):
                add_record(connection, episode, [Part("end")])
    return dead


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _start(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The second field, the name in brackets, may hold anything; a zombie no longer writes.
    state, *fields = stat.rpartition(")")[2].split()
    return "" if state in "ZX" else fields[18]
