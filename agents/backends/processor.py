"""The processor cores on which a model may run."""

from __future__ import annotations

import os
from pathlib import Path

CPUS = Path("/sys/devices/system/cpu")


def physical_cores(root: Path = CPUS) -> int:
    """Return how many physical cores this process may use.

    Two threads of one core share its arithmetic, so that a model gains nothing by the second. ARM cores have
    one thread each, so all of them count. Where the system does not report threads, all processors count.
    """
    try:
        allowed = sorted(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
    try:
        cores = {(root / f"cpu{cpu}/topology/thread_siblings_list").read_text().strip() for cpu in allowed}
    except OSError:
        return len(allowed)
    return len(cores)
