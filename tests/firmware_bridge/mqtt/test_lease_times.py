"""The times of a rig's lease, on a clock that the test moves; the broker is a list."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import pytest
from bridge_rig import wait_until
from given_clock import GivenClock

from firmware_bridge.link import LinkError
from firmware_bridge.mqtt.lease import Claim, Lease, decode_claim

OTHER = Claim("z", "ann on bench (process 7)", 9e9, 6.0)


class Held:
    """One host's lease; `claiming` runs its claim on a thread of its own."""

    def __init__(self, *, echo: bool = True) -> None:
        self.clock = GivenClock()
        self.published: list[bytes] = []
        self.told: list[str] = []
        self.echo = echo
        self.lease = Lease("mqtt://h/r", self._publish, self.clock)
        self.outcome: list[LinkError | None] = []

    def _publish(self, payload: bytes) -> None:
        self.published.append(payload)
        if self.echo and payload:
            self.lease.take(payload, False)

    def claiming(self, timeout: float = 5.0) -> threading.Thread:
        def claim() -> None:
            try:
                self.lease.claim(timeout, self.told.append)
            except LinkError as error:
                self.outcome.append(error)
            else:
                self.outcome.append(None)

        thread = threading.Thread(target=claim, daemon=True)
        thread.start()
        return thread

    def ended(self, thread: threading.Thread) -> LinkError | None:
        thread.join(10)
        assert not thread.is_alive()
        return self.outcome[-1]


def waiting(held: Held) -> threading.Thread:
    thread = held.claiming()
    assert wait_until(lambda: bool(held.told))
    held.clock.threads(1)
    held.clock.settle()
    return thread


@pytest.mark.parametrize(("seconds", "waits"), [(6.0, 6.0), (0.5, 0.5), (60.0, 60.0), (1e9, 60.0)])
def test_a_lease_that_nobody_renews_is_waited_for_just_as_long_as_it_lasts(
    seconds: float, waits: float
) -> None:
    held = Held()
    claim = decode_claim(Claim("z", OTHER.holder, 9e9, seconds).encode())
    assert claim is not None and claim.seconds == waits
    held.lease.take(claim.encode(), True)
    thread = waiting(held)
    assert held.told == [f"waiting for the lease of {OTHER.holder}, at most {math.ceil(waits)} s"]
    held.clock.advance(waits - 0.001)
    assert not held.outcome and held.published == []
    held.clock.threads(0)
    held.clock.advance(0.001)
    assert held.ended(thread) is None and held.lease.confirmed


def test_a_lease_that_is_renewed_while_we_wait_is_anothers() -> None:
    held = Held()
    held.lease.take(OTHER.encode(), True)
    thread = waiting(held)
    held.clock.advance(5.999)
    held.clock.threads(0)
    held.lease.take(Claim("z", OTHER.holder, 9e9, 6.0, n=1).encode(), True)
    assert "is driven by ann on bench" in str(held.ended(thread))
    assert held.published == []


def test_a_living_lease_lives_until_its_time_is_up() -> None:
    held = Held()
    held.lease.take(OTHER.encode(), False)
    held.clock.advance(5.999)
    assert held.ended(held.claiming()) is not None, "heard alive less than its time ago"
    held.clock.advance(0.002)
    assert held.ended(held.claiming()) is None


def test_a_removed_lease_is_free_at_once() -> None:
    held = Held()
    held.lease.take(OTHER.encode(), True)
    thread = waiting(held)
    held.clock.threads(0)
    held.lease.take(b"", True)
    assert held.ended(thread) is None and held.clock.now() == 100.0


@pytest.mark.parametrize(("down", "is_new"), [(6.0, False), (6.001, True)])
def test_after_a_lost_link_only_an_expired_lease_is_claimed_anew(down: float, is_new: bool) -> None:
    held = Held()
    assert held.ended(held.claiming()) is None
    first = decode_claim(held.published[-1])
    held.lease.link_changed(False)
    held.clock.advance(down)
    held.lease.link_changed(True)
    again = decode_claim(held.published[-1])
    assert first is not None and again is not None and again.n == first.n + 1
    assert (again.since > first.since) is is_new


def test_an_earlier_host_takes_the_lease_and_a_later_one_does_not() -> None:
    held = Held()
    assert held.ended(held.claiming()) is None
    count = len(held.published)
    held.lease.take(OTHER.encode(), False)
    assert held.lease.lost is None and len(held.published) == count + 1, "written over it again"
    held.lease.take(Claim("a", "bob", 1.0, 6.0).encode(), False)
    assert "driven by bob" in (held.lease.lost or "")
    held.lease.renew()
    held.lease.release()
    assert len(held.published) == count + 1


def test_a_broker_that_keeps_no_leases_is_waited_for_a_second_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[float] = []
    held = Held(echo=False)
    wait_for = held.lease._changed.wait_for

    def noted(done: Callable[[], bool], timeout: float) -> bool:
        asked.append(timeout)
        return wait_for(done, 0.0)

    monkeypatch.setattr(held.lease._changed, "wait_for", noted)
    assert held.ended(held.claiming(5.0)) is None
    assert asked == [1.0] and not held.lease.confirmed
