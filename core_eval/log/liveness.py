"""Is the process that wrote a half episode still alive?"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process beyond its number, which the system uses again.

    Attributes:
        pid: the process id.
        start: its start in the kernel's clock ticks since boot; empty where the system does not tell.
        boot_id: this boot of the machine; empty where the system does not tell.
    """

    pid: int
    start: str
    boot_id: str

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity:
        """The identity of the process that has this number now."""
        return cls(pid, _start(pid), _boot_id())

    def alive(self) -> bool:
        """Whether this very process still runs on this machine."""
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
