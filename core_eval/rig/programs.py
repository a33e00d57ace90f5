"""The programs that a rig's file names: what resets it before an episode, and what judges it after one."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

PROGRAM_SECONDS = 60.0
"""Time limit of a program, s."""
TASK, SEED = "PATHRIG_TASK", "PATHRIG_SEED"
LONGEST_LINE = 300


@dataclass(frozen=True)
class ProgramEnd:
    """How a program ended.

    Attributes:
        status: its exit status; None where it could not be started, was killed, or took too long.
        line: the last line that it printed, or why it has no status.
    """

    status: int | None
    line: str

    def __str__(self) -> str:
        status = "" if self.status is None else f"exit status {self.status}"
        return ": ".join(part for part in (status, self.line) if part)


def run_program(command: str, task: str, seed: int) -> ProgramEnd:
    """Run a program that a rig's file names, and wait for its end; what it started ends with it.

    It has no input, and learns the task's id and the seed by its environment. There is no shell.
    """
    environment = {**os.environ, TASK: task, SEED: str(seed)}
    try:
        return _run(shlex.split(command), environment)
    except OSError as error:
        return ProgramEnd(None, error.strerror or str(error))


def _run(command: list[str], environment: Mapping[str, str]) -> ProgramEnd:
    program = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        printed, _ = program.communicate(timeout=PROGRAM_SECONDS)
    except subprocess.TimeoutExpired:
        return ProgramEnd(None, f"no end within {PROGRAM_SECONDS:g} s")
    finally:
        # Also after a signal to this process; what it started may hold its output open.
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()
    lines = printed.decode("utf-8", errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")[:LONGEST_LINE]
    if program.returncode < 0:
        return ProgramEnd(None, f"killed by signal {-program.returncode}")
    return ProgramEnd(program.returncode, last)
