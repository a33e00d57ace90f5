"""A simulator as a process of its own: started, awaited, and ended again on every way out."""

from __future__ import annotations

import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

START_SECONDS = 30.0
END_SECONDS = 5.0


class RigError(Exception):
    """A rig that cannot be used; the text is one line that says what to do."""


@contextmanager
def simulator_process(arguments: Sequence[str]) -> Iterator[str]:
    """Run `pathrig sim ARGUMENTS`; yields the first line that it prints, which says where it is found.

    The child ends when the context does, and also when this process dies without a word, since it watches
    its parent. It has a session of its own, so that a Ctrl-C at the terminal reaches us alone and we can
    bring the rig to its safe state first.

    Raises:
        RigError: it ended, or said nothing, before it was ready.
    """
    command = [sys.executable, "-m", "core_eval.cli.main", "sim", *arguments, "--exit-with-parent"]
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            command,
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
                errors.seek(0)
                said = errors.read().decode(errors="replace").strip().splitlines()
                raise RigError(f"the simulator did not start: {said[-1] if said else 'it said nothing'}")
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
