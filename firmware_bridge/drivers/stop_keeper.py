"""A small process that holds the port too, and writes the stop when the program that drives it is killed.

Foreign firmware has no watchdog for its host. This process waits on a pipe whose other end only the driving
program holds; when that end closes without a word, the program is gone, and the stop goes out: several times
within a second, as there is firmware that is deaf at times (FarmBot's for 0.2 s at the end of each move).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

DONE = b"d"
# Runs without this package: it must start fast, and needs nothing but the two descriptors.
PROGRAM = """
import os, signal, sys, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
port, stop = int(sys.argv[1]), bytes.fromhex(sys.argv[2])
os.write(1, b"r")
if not os.read(0, 1):
    for pause in (0.05, 0.05, 0.1, 0.2, 0.3, 0.3, 0):
        try:
            os.write(port, stop)
        except OSError:
            pass
        time.sleep(pause)
"""


class StopKeeper:
    """Watches over one open port.

    Args:
        port: the port's file descriptor.
        stop: the bytes of the stop.
    """

    def __init__(self, port: int, stop: bytes) -> None:
        # A session of its own, so that what kills our process group leaves it alive.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", PROGRAM, str(port), stop.hex()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=(port,),
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._process.stdout.read(1)

    def end(self) -> None:
        """Let it go: the program that drives the port closes it itself. Never raises."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(OSError):
            os.write(self._process.stdin.fileno(), DONE)
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
