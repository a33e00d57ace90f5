"""A simulator as a process of its own: started, awaited, and ended again on every way out."""

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

from core_eval.harness.serve_simulator import ServedSimulator

START_SECONDS = 30.0
END_SECONDS = 5.0


class RigError(Exception):
    """A rig that cannot be used; the text is one line that says what to do."""


class ProcessWatch:
    """Hears of processes that end while a rig needs them; the first end counts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said: str | None = None
        self._tell: Callable[[str], None] | None = None

    def tell(self, tell: Callable[[str], None]) -> None:
        """Call this with one line when a process ends, on a thread of its own, or now where one has ended."""
        with self._lock:
            self._tell, said = tell, self._said
        if said is not None:
            tell(said)

    @contextmanager
    def over(
        self, child: subprocess.Popen[Any], name: str, errors: IO[bytes] | None = None
    ) -> Iterator[None]:
        """While the context lasts, this process is to live; `errors` is where it writes its errors."""
        left = threading.Event()

        def wait() -> None:
            status = child.wait()
            if not left.is_set():
                self._ended(f"{name} ended ({_how(status)}){_last_line(errors)}")

        threading.Thread(target=wait, name=f"watch {name}", daemon=True).start()
        try:
            yield
        finally:
            left.set()

    def _ended(self, said: str) -> None:
        with self._lock:
            if self._said is not None:
                return
            self._said, tell = said, self._tell
        if tell is not None:
            tell(said)


@contextmanager
def simulator_process(what: ServedSimulator, watch: ProcessWatch | None = None) -> Iterator[str]:
    """Serve a simulator in a child process; yields the first line that it prints: where it is found.

    Where it ends before the context does, `watch` hears of it.

    The child ends when the context does, and also when this process dies without a word, since it watches
    its parent. It has a session of its own, so that a Ctrl-C at the terminal reaches us alone and we can
    bring the rig to its safe state first.

    Raises:
        RigError: it ended, or said nothing, before it was ready.
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
                raise RigError(f"the simulator did not start{_last_line(errors) or ': it said nothing'}")
            with (watch or ProcessWatch()).over(child, "the simulator", errors):
                yield line
        finally:
            end_process(child)


def end_process(child: subprocess.Popen[bytes]) -> None:
    """Ask the child to end, and make it end if it does not."""
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
    """The last line that it wrote to its standard error, behind a colon; empty where it wrote none."""
    if errors is None:
        return ""
    errors.seek(0)
    said = errors.read().decode(errors="replace").strip().splitlines()
    return f": {said[-1]}" if said else ""


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
