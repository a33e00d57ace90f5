"""The freeze watch: each gap in which this process stood still is reported once, with its seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from bridge_rig import wait_until
from given_clock import GivenClock

from firmware_bridge.clock import BOOTTIME, MONOTONIC
from firmware_bridge.freeze_watch import FREEZE_SECONDS, FreezeWatch


class Watched:
    """A watch with the test's clock and stop keeper."""

    def __init__(self) -> None:
        self.clock, self.strikes = GivenClock(), 0
        self.reported: list[float] = []
        self.watch = FreezeWatch(self, self.reported.append, self.clock)


@pytest.fixture
def watched() -> Iterator[Watched]:
    watched = Watched()
    yield watched
    watched.watch.close()


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "freeze watch"]


def test_a_gap_is_a_freeze_once_and_reported_with_its_seconds(watched: Watched) -> None:
    watched.watch.start()
    watched.clock.jump(FREEZE_SECONDS)
    assert watched.watch.freezes() == 0, "so long is just no freeze"
    watched.clock.jump(FREEZE_SECONDS + 0.5)
    assert watched.watch.freezes() == 1 == watched.watch.freezes()
    assert wait_until(lambda: watched.reported == [FREEZE_SECONDS + 0.5])
    watched.clock.jump(60.0)
    assert watched.watch.freezes() == 2
    assert wait_until(lambda: watched.reported == [FREEZE_SECONDS + 0.5, 60.0])


def test_its_own_thread_finds_a_gap(watched: Watched) -> None:
    watched.watch.start()
    watched.clock.jump(10.0)
    assert wait_until(lambda: watched.reported == [10.0])


def test_a_strike_of_the_stop_keeper_is_a_freeze_without_a_gap(watched: Watched) -> None:
    watched.strikes = 2
    watched.watch.start()
    assert watched.watch.freezes() == 0, "strikes from before are none of ours"
    watched.strikes = 3
    assert watched.watch.freezes() == 1 == watched.watch.freezes()
    assert wait_until(lambda: watched.reported == [0.0])
    watched.clock.jump(FREEZE_SECONDS)
    watched.strikes = 4
    assert watched.watch.freezes() == 2
    assert wait_until(lambda: watched.reported == [0.0, 0.0])


def test_time_before_the_start_and_after_the_end_does_not_count(watched: Watched) -> None:
    watched.clock.jump(60.0)
    assert watched.watch.freezes() == 0
    watched.watch.start()
    assert watched.watch.freezes() == 0
    watched.watch.close()
    watched.clock.jump(60.0)
    assert watched.watch.freezes() == 0 and watched.reported == []


def test_it_has_one_thread_which_keeps_no_process_alive(watched: Watched) -> None:
    before = set(threads())
    watched.watch.start()
    watched.watch.start()
    (own,) = set(threads()) - before
    assert own.daemon
    watched.watch.close()
    assert wait_until(lambda: not own.is_alive())


def test_the_clock_runs_on_by_itself_and_in_a_suspend() -> None:
    first = BOOTTIME.now()
    assert wait_until(lambda: BOOTTIME.now() > first)
    assert FreezeWatch(None, lambda seconds: None)._clock is BOOTTIME
    # After a suspend the two differ; their difference never shrinks.
    assert BOOTTIME.now() - MONOTONIC.now() > -0.01
    assert abs(BOOTTIME.now() - time.clock_gettime(time.CLOCK_BOOTTIME)) < 60


def test_its_thread_looks_four_times_a_second_and_no_look_is_a_freeze(watched: Watched) -> None:
    watched.watch.start()
    watched.clock.threads(1)
    watched.clock.advance(60.0)
    assert watched.watch.freezes() == 0
    for number in (1, 2, 3):
        watched.clock.jump(3.0)
        assert watched.watch.freezes() == number - 1, "so long is just no freeze"
        watched.clock.jump(3.01)
        assert wait_until(lambda n=number: len(watched.reported) == n), "each freeze, not the first alone"
    watched.strikes = 1
    watched.clock.advance(0.2499)
    assert len(watched.reported) == 3
    watched.clock.advance(0.0002)
    assert wait_until(lambda: watched.reported[3:] == [0.0])
