"""Run a program that ends with its starter, however that ends.

Runs as a process of its own, by its path and without any import of the kit; `kept` gives the command. Its
standard input is a pipe or socket from the starter, whose end (also by SIGKILL) ends the program, and what
the program started in the process group, where that is the keeper's own. It exits with the program's status.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

PR_SET_PDEATHSIG = 1
STREAMS, ALONE = "streams", "alone"
LEAVE_SECONDS = 2.0
"""Time in which a program on the starter's streams may end by itself once they have ended."""
END_SECONDS = 5.0
"""Time between SIGTERM and SIGKILL."""


def kept(command: Sequence[str], *, streams: bool) -> list[str]:
    """Return the command that runs a program under a keeper, to be started in a session of its own.

    With `streams` the program has the keeper's standard streams. Else it has no input, writes to standard
    error, and the keeper prints its process id.
    """
    # Without site packages: the keeper needs none, and starts sooner.
    return [sys.executable, "-I", "-S", __file__, STREAMS if streams else ALONE, *command]


def ending(status: int) -> str:
    """Return how a kept program ended, for its keeper's exit status."""
    return f"exit status {status}" if status < 128 else f"killed by signal {status - 128}"


def end_group(program: subprocess.Popen[bytes], seconds: float) -> None:
    """End a program and all that it started in its process group; `seconds` after SIGTERM by SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(program.pid, number)
        with suppress(subprocess.TimeoutExpired):
            program.wait(seconds)


def main(arguments: list[str]) -> int:
    """Run the command until it ends or standard input does."""
    streams, command = arguments[0] == STREAMS, arguments[1:]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        # The starter alone ends the program, when it needs it no longer.
        signal.signal(number, signal.SIG_IGN)
    try:
        program = subprocess.Popen(
            command,
            stdin=None if streams else subprocess.DEVNULL,
            stdout=None if streams else sys.stderr,
            preexec_fn=_end_with_keeper,
        )
    except OSError as error:
        print(f"{command[0]}: {error.strerror or error}", file=sys.stderr, flush=True)
        return 127
    if streams:
        # The program alone holds its output, so that the starter sees where it closes it.
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    else:
        print(program.pid, flush=True)
    alone = threading.Event()
    threading.Thread(
        target=_end_with_starter, args=(program, alone, LEAVE_SECONDS if streams else 0.0), daemon=True
    ).start()
    status = program.wait()
    if alone.is_set():
        _signal(program, signal.SIGKILL)
    return status if status >= 0 else 128 - status


def _end_with_keeper() -> None:
    """Ask Linux, in the new process, to end it if this one is killed; and let it be signalled again."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _end_with_starter(program: subprocess.Popen[bytes], alone: threading.Event, leave: float) -> None:
    poller = select.poll()
    # Only whether the other side is there: what it writes is the program's to read.
    poller.register(0, getattr(select, "POLLRDHUP", 0))
    poller.poll()
    alone.set()
    for seconds, number in ((leave, signal.SIGTERM), (END_SECONDS, signal.SIGKILL)):
        try:
            program.wait(seconds)
        except subprocess.TimeoutExpired:
            _signal(program, number)


def _signal(program: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal the process group; only the program where the group is another's."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, number)
    else:
        program.send_signal(number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))


PERIOD = 0.2
"""Time between two checks, s."""


def watch_parent(on_gone: Callable[[], None]) -> None:
    """Call `on_gone` once, on another thread, when the parent process has ended."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PERIOD)
        on_gone()

    threading.Thread(target=watch, name="parent watch", daemon=True).start()
