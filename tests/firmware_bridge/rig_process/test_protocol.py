"""When host and rig process take each other for dead, and their frames, on a clock that the test moves."""

from __future__ import annotations

import json

import pytest
from given_clock import GivenClock
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.rig_process.protocol import (
    LATE_STOP_SECONDS,
    LATE_STRIKE,
    STRIKE,
    Frames,
    HostWatch,
    Kind,
    RigWatch,
    done,
    frame,
    numbered,
    request,
)


def test_a_host_is_dead_after_three_silent_seconds_and_not_before() -> None:
    clock = GivenClock()
    watch = HostWatch(clock)
    clock.jump(2.999)
    assert not watch.strikes()
    watch.heard()
    clock.jump(2.999)
    assert not watch.strikes(), "each frame begins the time anew"
    clock.jump(0.001)
    assert watch.strikes()
    clock.jump(60.0)
    assert not watch.strikes(), "once for each silence"


@pytest.mark.parametrize("seconds", [3.0, 20.0, 8 * 3600.0])
def test_it_strikes_at_every_silence_also_one_that_a_suspend_made(seconds: float) -> None:
    clock = GivenClock()
    watch = HostWatch(clock)
    for _ in range(3):
        clock.jump(seconds)
        assert watch.strikes()
        watch.heard()
        assert not watch.strikes()


def test_it_waits_no_longer_than_until_the_next_thing_is_due() -> None:
    clock = GivenClock()
    watch = HostWatch(clock)
    assert watch.pause == 1.0
    clock.jump(0.75)
    assert (watch.beats(), watch.pause) == (False, 0.25)
    clock.jump(0.25)
    assert watch.pause == 0.0 and watch.beats() and not watch.beats()
    clock.jump(1.5)
    assert watch.beats()
    assert watch.pause == pytest.approx(0.5), "the silence of 3 s is up in half a second"
    clock.jump(0.5)
    assert watch.pause == 0.0 and watch.strikes()
    assert watch.pause == pytest.approx(0.5), "after the strike only the beats are due"


def test_a_rig_process_is_dead_after_three_beats_without_a_word() -> None:
    watch = RigWatch()
    assert [watch.beat() for _ in range(4)] == [False, False, False, True]
    watch.heard()
    assert [watch.beat() for _ in range(4)] == [False, False, False, True]


def test_the_stop_is_sent_seven_times_within_a_second_and_longer_to_a_board_that_boots() -> None:
    assert STRIKE[0] == 0.0 and STRIKE[-1] == 1.0 and len(STRIKE) == 7
    assert LATE_STRIKE[:7] == STRIKE and LATE_STRIKE[-1] == 4.0
    assert list(LATE_STRIKE) == sorted(LATE_STRIKE) and LATE_STOP_SECONDS == 60.0


@given(st.lists(st.tuples(st.sampled_from(Kind), st.binary(max_size=300))), st.integers(1, 40))
def test_frames_come_out_as_they_went_in_however_they_are_cut(
    frames: list[tuple[Kind, bytes]], size: int
) -> None:
    stream = b"".join(frame(kind, body) for kind, body in frames)
    reader = Frames()
    found = [one for at in range(0, len(stream), size) for one in reader.feed(stream[at : at + size])]
    assert found == frames


def test_a_request_and_its_result_have_one_number() -> None:
    ((kind, body),) = Frames().feed(request(Kind.ENSURE, 7, b"2.5"))
    assert (kind, numbered(body)) == (Kind.ENSURE, (7, b"2.5"))
    ((kind, body),) = Frames().feed(done(7, outcome="sent"))
    number, result = numbered(body)
    assert (kind, number, json.loads(result)) == (Kind.DONE, 7, {"outcome": "sent"})
