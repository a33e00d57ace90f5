"""What each failure of a verb is: a line that says it, and the exit status."""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agents.agent import AgentSpecError, BackendError
from configs.errors import ConfigError
from core_eval.cli.output import UsageError
from core_eval.log import LogError
from core_eval.rig.signals import RigError, StoppedByPerson, StopRequested
from core_eval.run.episode import EpisodeFailed
from devices.registry import PluginError
from firmware_bridge.link import LinkError

if TYPE_CHECKING:
    from core_eval.rig.final_stops import FinalStop

BAD_INPUT, RIG_FAILED, STOPPED = 2, 3, 130
OF_INPUT = (UsageError, ConfigError, AgentSpecError, LogError, PluginError)
OF_RIG = (RigError, LinkError, EpisodeFailed, BackendError)
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The errors of a full disk, an exceeded quota, or a file that is too large."""


def failure(error: BaseException, stops: Sequence[FinalStop]) -> tuple[str | None, int]:
    """Return the line that says what failed, None where nothing is to be said, and the exit status."""
    safe = bool(stops) and all(stop.stop for stop in stops)
    if isinstance(error, StoppedByPerson):
        state = "the rig is safe, and " if safe else ""
        return f"{error}; {state}--resume continues with the next episode", STOPPED
    if isinstance(error, StopRequested):
        state = "the rig is safe and " if safe else ""
        return f"{error}; {state}the log is readable", error.exit_status
    if isinstance(error, OF_INPUT):
        return str(error), BAD_INPUT
    if isinstance(error, OF_RIG):
        return str(error), RIG_FAILED
    if isinstance(error, sqlite3.Error):
        return f"the log could not be written: {error}", RIG_FAILED
    if isinstance(error, OSError) and error.errno in FULL:
        drop_output()
        where = "the output" if error.filename is None else str(error.filename)
        return f"{where} cannot be written: {error.strerror}", BAD_INPUT
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        # What is no name of the kit's is looked for as a file: a prompt, for one, that was pasted as a task.
        name = str(error.filename).rpartition("/")[2]
        return f"{name[:60]!r}... is too long for a name or a file: give a shorter one", BAD_INPUT
    # A bug: Python's own exit status 1 would mean a missed threshold.
    traceback.print_exception(error)
    return None, RIG_FAILED


def drop_output() -> None:
    """Redirect standard output to the null device, so that flushing its buffer cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
