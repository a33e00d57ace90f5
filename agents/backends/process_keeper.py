"""Run a program that ends with its starter, however that ends.

Runs as a process of its own, by its path and without any import of the kit:
`python process_keeper.py PROGRAM ARGS`. Its standard input is a pipe from the starter, whose end (also by
SIGKILL) ends the program. It prints the program's process id, and exits with the program's status.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading

PR_SET_PDEATHSIG = 1
END_SECONDS = 5.0
"""Time between SIGTERM and SIGKILL."""


def main(command: list[str]) -> int:
    """Run the command until it ends or standard input does."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # The starter alone ends the program, when it needs it no longer.
        signal.signal(number, signal.SIG_IGN)
    try:
        program = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=sys.stderr, preexec_fn=_end_with_keeper
        )
    except OSError as error:
        print(f"{command[0]}: {error.strerror or error}", file=sys.stderr, flush=True)
        return 127
    print(program.pid, flush=True)
    threading.Thread(target=_end_with_starter, args=(program,), daemon=True).start()
    status = program.wait()
    return status if status >= 0 else 128 - status


def _end_with_keeper() -> None:
    """Ask Linux, in the new process, to end it if this one is killed; and let it be signalled again."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _end_with_starter(program: subprocess.Popen[bytes]) -> None:
    while os.read(0, 1):
        pass
    program.terminate()
    try:
        program.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        program.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
