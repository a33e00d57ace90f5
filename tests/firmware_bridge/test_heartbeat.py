"""The heartbeat: a third of the watchdog's time between two pings, and a lease that is renewed in time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from given_clock import GivenClock

from firmware_bridge.heartbeat import Heartbeat
from firmware_bridge.link import LinkError


class Beating:
    """A heart on a clock that the test moves, and what it sends when."""

    def __init__(self, watchdog_ms: float | None, *, brokered: bool = False, status: bool = True) -> None:
        self.clock = GivenClock()
        self.pings: list[tuple[float, float]] = []
        self.renewals: list[float] = []
        self.error: Exception | None = None
        self.ping_takes = 0.0
        self.link: Any = SimpleNamespace(name="rig", brokered=brokered, connected=True, renew=self._renew)
        peer: Any = SimpleNamespace(status=SimpleNamespace(watchdog_ms=watchdog_ms) if status else None)
        probe: Any = SimpleNamespace(ping=self._ping)
        self.heart = Heartbeat(self.link, peer, probe, self.clock)

    def _renew(self) -> None:
        self.renewals.append(round(self.clock.now() - 100.0, 6))

    def _ping(self, timeout: float) -> None:
        self.pings.append((round(self.clock.now() - 100.0, 6), round(timeout, 6)))
        self.clock._now += self.ping_takes
        if self.error is not None:
            raise self.error

    def __enter__(self) -> Beating:
        self.heart.start()
        self.heart.start()
        self.clock.threads(1)
        return self

    def __exit__(self, *_: object) -> None:
        self.clock.threads(0)
        self.heart.close()


@pytest.mark.parametrize(
    ("watchdog_ms", "period"), [(6000, 2.0), (3000, 1.0), (90, 0.03), (9, 0.02), (None, 1.0), (0, 1.0)]
)
def test_it_beats_at_a_third_of_the_watchdogs_time(watchdog_ms: float | None, period: float) -> None:
    with Beating(watchdog_ms) as beating:
        beating.clock.advance(period - 0.001)
        assert beating.pings == []
        beating.clock.advance(0.001)
        assert beating.pings == [(round(period, 6), round(period, 6))]
        beating.clock.advance(3 * period + 1e-9)
        assert len(beating.pings) == len(beating.renewals) == 4


@pytest.mark.parametrize(("brokered", "period"), [(True, 2.0), (False, 20.0)])
def test_a_lease_is_renewed_at_least_every_two_seconds(brokered: bool, period: float) -> None:
    with Beating(60_000, brokered=brokered) as beating:
        beating.clock.advance(period - 0.001)
        assert beating.renewals == []
        beating.clock.advance(0.001)
        assert beating.renewals == [period]


def test_the_time_that_a_ping_takes_is_part_of_the_period() -> None:
    with Beating(3000) as beating:
        beating.ping_takes = 0.75
        beating.clock.advance(4.0)
        assert [at for at, _ in beating.pings] == [1.0, 2.0, 3.0, 4.0]


def test_a_lost_link_gets_no_ping_and_a_missed_pong_ends_nothing() -> None:
    with Beating(3000) as beating:
        beating.link.connected = False
        beating.clock.advance(2.0)
        assert (beating.pings, beating.renewals) == ([], [1.0, 2.0])
        beating.link.connected, beating.error = True, LinkError("no answer")
        beating.clock.advance(2.0)
        assert [at for at, _ in beating.pings] == [3.0, 4.0]


def test_before_the_first_status_it_beats_once_a_second_and_its_end_ends_it() -> None:
    with Beating(9000, status=False) as beating:
        beating.clock.advance(1.0)
        assert len(beating.pings) == 1
        beating.clock.threads(0)
        beating.heart.close()
        assert beating.heart._thread is not None and beating.heart._thread.daemon
        beating.heart._thread.join(10)
        assert not beating.heart._thread.is_alive()
