"""A program that ends with its starter, in this process: its statuses, and the times of its end."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from bridge_rig import wait_until

from firmware_bridge import process_keeper
from firmware_bridge.process_keeper import ALONE, STREAMS, ending, kept, main

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
STUBBORN = "trap '' TERM; touch {ready}; sleep 60 & wait; wait; wait"


@pytest.fixture
def leave() -> Iterator[Callable[[], None]]:
    """The starter's end of standard input: calling it is the starter's end."""
    read, write = os.pipe()
    before, kept_input = {number: signal.getsignal(number) for number in SIGNALS}, os.dup(0)
    os.dup2(read, 0)
    closed = threading.Event()

    def end() -> None:
        if not closed.is_set():
            closed.set()
            os.close(write)

    yield end
    end()
    os.dup2(kept_input, 0)
    os.close(kept_input)
    os.close(read)
    for number, handler in before.items():
        signal.signal(number, handler)


def keep(*arguments: str) -> tuple[int, str, str]:
    """Its exit status, and what it printed on both streams, which are files: it changes their descriptors."""
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        with redirect_stdout(out), redirect_stderr(err):
            status = main(list(arguments))
        for stream in (out, err):
            stream.seek(0)
        return status, out.read(), err.read()


def run(mode: str, script: str) -> tuple[int, float]:
    """Its exit status, and the seconds that it took."""
    began = time.monotonic()
    return keep(mode, "sh", "-c", script)[0], time.monotonic() - began


def test_its_status_is_the_programs(leave: Callable[[], None], tmp_path: Path) -> None:
    before = set(threading.enumerate())
    status, out, err = keep(ALONE, "sh", "-c", f"echo $$ > {tmp_path}/pid; echo words; exit 7")
    assert (status, out, err) == (7, (tmp_path / "pid").read_text(), "words\n")
    assert all(thread.daemon for thread in set(threading.enumerate()) - before), (
        "it would outlive the program"
    )
    assert run(STREAMS, "kill -9 $$")[0] == 137
    assert all(signal.getsignal(number) is signal.SIG_IGN for number in SIGNALS)
    assert keep(ALONE, "/there/is/none") == (127, "", "/there/is/none: No such file or directory\n")


def test_how_it_ended_is_told_from_its_status() -> None:
    assert [ending(status) for status in (0, 127, 137)] == [
        "exit status 0", "exit status 127", "killed by signal 9",
    ]  # fmt: skip
    assert kept(["a", "b"], streams=True) == [
        sys.executable, "-I", "-S", process_keeper.__file__, "streams", "a", "b",
    ]  # fmt: skip
    assert kept(["a"], streams=False)[-2:] == ["alone", "a"]


def test_a_program_on_its_own_is_ended_with_its_starter_at_once(
    leave: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_keeper, "LEAVE_SECONDS", 30.0)
    leave()
    status, seconds = run(ALONE, "exec sleep 60")
    # It can be signalled, though its keeper ignores the signals.
    assert status == 143 and seconds < 20


def test_a_program_on_the_starters_streams_has_two_seconds_to_end_by_itself(
    leave: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (process_keeper.LEAVE_SECONDS, process_keeper.END_SECONDS) == (2.0, 5.0)
    leave()
    status, seconds = run(STREAMS, "sleep 0.5; exit 3")
    assert status == 3 and seconds >= 0.5
    monkeypatch.setattr(process_keeper, "LEAVE_SECONDS", 0.3)
    status, seconds = run(STREAMS, "exec sleep 60")
    assert status == 143 and 0.3 <= seconds < 10


def test_one_that_ignores_its_end_is_killed_after_five_seconds(
    leave: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_keeper, "END_SECONDS", 0.6)
    ready = tmp_path / "ready"
    threading.Thread(target=lambda: wait_until(ready.exists) and leave()).start()
    status, seconds = run(ALONE, STUBBORN.format(ready=ready))
    assert status == 137 and 0.6 <= seconds < 10
