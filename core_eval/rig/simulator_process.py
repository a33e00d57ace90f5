"""A simulator as a child process."""

from __future__ import annotations

import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from core_eval.rig.serve_simulator import ServedSimulator
from core_eval.rig.signals import RigError

START_SECONDS = 30.0
END_SECONDS = 5.0
NOTICE_SECONDS = 0.5
"""Time in which the end of a process is noticed after its link has failed."""


class ProcessMonitor:
    """Reports the first end of a process that a rig needs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason: str | None = None
        self._callback: Callable[[str], None] | None = None
        self._monitored, self._noticed = 0, threading.Event()

    def on_end(self, callback: Callable[[str], None]) -> None:
        """Set the callback; it gets one line, on a thread of its own, or at once if a process has ended."""
        with self._lock:
            self._callback, reason = callback, self._reason
        if reason is not None:
            callback(reason)

    def reason(self) -> str | None:
        """Return how a process ended, None if all live. A link may fail before its process has ended."""
        if self._monitored:
            self._noticed.wait(NOTICE_SECONDS)
        return self._reason

    @contextmanager
    def monitoring(
        self, child: subprocess.Popen[Any], name: str, errors: IO[bytes] | None = None
    ) -> Iterator[None]:
        """Report the end of a process during the context; `errors` is the file of its standard error."""
        left = threading.Event()

        def wait() -> None:
            status = child.wait()
            if not left.is_set():
                self._ended(f"{name} ended ({_how(status)}){_last_line(errors)}")

        self._monitored += 1
        threading.Thread(target=wait, name=f"monitor {name}", daemon=True).start()
        try:
            yield
        finally:
            left.set()

    def _ended(self, reason: str) -> None:
        with self._lock:
            if self._reason is not None:
                return
            self._reason, callback = reason, self._callback
        self._noticed.set()
        if callback is not None:
            callback(reason)


@contextmanager
def simulator_process(what: ServedSimulator, monitor: ProcessMonitor | None = None) -> Iterator[str]:
    """Serve a simulator in a child process, and yield the first line that it prints.

    The child ends with the context, or when this process dies. It runs in a session of its own, so that a
    Ctrl-C at the terminal reaches only this process, which can then stop the rig. `monitor` reports an
    earlier end.

    Raises:
        RigError: the child ended or printed nothing before it was ready.
    """
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            what.command(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        try:
            line = _first_line(child)
            if not line:
                child.kill()
                child.wait()
                raise RigError(f"the simulator did not start{_last_line(errors) or ': it printed nothing'}")
            with (monitor or ProcessMonitor()).monitoring(child, "the simulator", errors):
                yield line
        finally:
            end_process(child)


def end_process(child: subprocess.Popen[bytes]) -> None:
    """Terminate the child, and kill it if it does not end within `END_SECONDS`."""
    child.terminate()
    try:
        child.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    if child.stdout is not None:
        child.stdout.close()


def _how(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


def _last_line(errors: IO[bytes] | None) -> str:
    """Return ": " and the last line of its standard error; empty if there is none."""
    if errors is None:
        return ""
    errors.seek(0)
    lines = errors.read().decode(errors="replace").strip().splitlines()
    return f": {lines[-1]}" if lines else ""


def _first_line(child: subprocess.Popen[bytes]) -> str:
    assert child.stdout is not None
    deadline = time.monotonic() + START_SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while time.monotonic() < deadline:
            if selector.select(0.2):
                return child.stdout.readline().decode(errors="replace").strip()
            if child.poll() is not None:
                return ""
    return ""
