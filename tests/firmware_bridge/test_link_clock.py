"""The device's clock as pings show it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.link_clock import LinkClock


@given(
    st.floats(-1e6, 1e6),
    st.lists(
        st.tuples(st.floats(0.001, 0.5), st.floats(0.0, 1.0), st.floats(0.01, 5.0)), min_size=1, max_size=20
    ),
)
def test_never_later_than_the_device_and_within_the_best_round_trip(
    offset: float, pings: list[tuple[float, float, float]]
) -> None:
    clock, now = LinkClock(), 1000.0
    for round_trip, where, pause in pings:
        clock.update(now, now + round_trip, int((now + where * round_trip + offset) * 1000 // 1))
        now += round_trip + pause
    guess = clock.device_ms(now)
    assert guess is not None and clock.restarts == 0
    true = (now + offset) * 1000
    best = min(ping[0] for ping in pings) * 1000
    assert true - best - 2 * 5 * len(pings) - 3 <= guess <= true + 1.5
    latest = clock.latest_ms(now)
    assert latest is not None and true - 1.5 <= latest <= true + best + 2 * 5 * len(pings) + 3
    assert 0.0 <= clock.spread <= (best + 2 * 5 * len(pings) + 2) / 1000
    clock.forget()
    assert clock.latest_ms(now) is None and clock.spread == 0.0


def test_a_clock_that_starts_anew_is_a_restart_and_is_measured_anew() -> None:
    clock = LinkClock()
    clock.update(10.0, 10.01, 50_000)
    clock.update(20.0, 20.01, 60_000)
    assert clock.restarts == 0
    clock.update(30.0, 30.01, 500)
    assert clock.restarts == 1
    assert abs((clock.device_ms(31.0) or 0) - 1495) < 20


def test_a_clock_that_fell_behind_by_more_than_it_cuts_off_is_measured_anew() -> None:
    clock = LinkClock()
    clock.update(10.0, 10.0, 50_000)
    clock.update(10.001, 10.001, 49_999)
    # By the second ping it is behind 39.999 s, so that it shows less than 59,999 ms.
    assert clock.device_ms(20.0) in (59_997, 59_998)
    assert clock.restarts == 0


def test_a_clock_that_fell_behind_by_more_than_the_jump_of_a_restart_is_none() -> None:
    clock = LinkClock()
    clock.update(10.0, 10.01, 50_000)
    clock.update(10.7, 10.71, 50_200)
    assert clock.restarts == 0
    assert abs((clock.device_ms(11.7) or 0) - 51_195) < 20
    clock.update(11.4, 11.41, 700)
    assert clock.restarts == 1


def test_of_a_device_that_states_its_boot_a_jump_back_is_a_doubt_until_its_status_says_so() -> None:
    clock = LinkClock()
    clock.update(10.0, 10.01, 300, states_boot=True)
    # An emulated board that has just started, at less than its speed.
    clock.update(10.7, 10.71, 640, states_boot=True)
    assert (clock.restarts, clock.doubtful) == (0, True)
    clock.restart()
    assert (clock.restarts, clock.doubtful) == (1, False)


def test_a_link_that_was_down_must_be_measured_again_and_still_shows_a_restart() -> None:
    clock = LinkClock()
    clock.update(10.0, 10.01, 50_000)
    clock.forget()
    assert clock.device_ms(11.0) is None
    clock.update(12.0, 12.01, 700)
    assert clock.known and clock.restarts == 1


def test_unknown_until_measured() -> None:
    assert LinkClock().device_ms(1.0) is None


def test_a_device_that_says_that_it_started_anew_is_counted_each_time() -> None:
    clock = LinkClock()
    clock.update(10.0, 10.01, 50_000)
    for restarts in (1, 2, 3):
        clock.restart()
        assert (clock.restarts, clock.known, clock.device_ms(11.0)) == (restarts, False, None)
    clock.update(12.0, 12.01, 700)
    assert clock.known and clock.restarts == 3, "what was measured before is no measure of this one"
