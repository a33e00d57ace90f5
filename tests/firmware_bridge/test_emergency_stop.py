"""The stop as the host sends it: how often, how long, and what is said of it, on a clock of the test's."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from given_clock import GivenClock

from devices.outcome import StopOutcome
from devices.rig_motion import RigMotion
from firmware_bridge import messages as wire
from firmware_bridge.emergency_stop import EmergencyStop
from firmware_bridge.link import LinkError

STOPPED = wire.Status(state="estop", device="d")


class Stopping:
    """A link and a rig that answers hello from a given time on, with these statuses."""

    def __init__(self, answers_at: float | None, *statuses: wire.Status, estop_takes: float = 0.0) -> None:
        self.clock = GivenClock()
        self.answers_at, self.statuses, self.estop_takes = answers_at, list(statuses), estop_takes
        self.sent: list[float] = []
        self.asked: list[float] = []
        self.error: LinkError | None = None
        self.link: Any = SimpleNamespace(
            name="rig",
            confirms_stop=True,
            brokered=False,
            rig=RigMotion(),
            stop=self._stop,
            send=lambda payload: self._estop(),
        )
        probe: Any = SimpleNamespace(hello_until=self._hello)
        clock: Any = SimpleNamespace(
            spread=0.0,
            device_ms=lambda host: int(1000 * (host - 100.0)) + 5000,
            latest_ms=lambda host: int(1000 * (host - 100.0 + clock.spread)) + 5000,
        )
        self.peer: Any = SimpleNamespace(status_count=7, clock=clock, conflict=None)
        self.stop = EmergencyStop(self.link, self.peer, probe, self.clock)

    def _now(self) -> float:
        return round(self.clock.now() - 100.0, 6)

    def _estop(self) -> None:
        if self.error is not None:
            raise self.error
        self.sent.append(self._now())
        self.clock._now += self.estop_takes

    def _stop(self) -> None:
        self._estop()
        self.link.rig.stopped(None)

    def _hello(self, accept: Callable[[wire.Status], bool], seen: int, timeout: float) -> bool:
        assert seen == 7
        self.asked.append(round(timeout, 6))
        due = self.answers_at is not None and self._now() + timeout >= self.answers_at
        found = due and any(accept(status) for status in self.statuses)
        self.clock._now += max(0.0, self.answers_at - self._now()) if found and self.answers_at else timeout
        return found


def test_a_stop_is_repeated_each_half_second_until_it_is_confirmed() -> None:
    rig = Stopping(1.2, wire.Status(state="online"), STOPPED)
    assert rig.stop.stop(3.0) is StopOutcome.CONFIRMED
    assert rig.sent == [0.0, 0.5, 1.0] and rig.stop.error == ""
    assert rig._now() == 1.2


@pytest.mark.parametrize(("timeout", "sent"), [(3.0, 6), (1.0, 2), (0.4, 1), (0.0, 1)])
def test_it_waits_just_so_long_for_the_confirmation(timeout: float, sent: int) -> None:
    rig = Stopping(None)
    assert rig.stop.stop(timeout) is StopOutcome.SENT
    assert rig._now() == timeout and len(rig.sent) == sent
    assert rig.stop.error == f"rig did not confirm within {timeout:g} s that it is stopped"


def test_the_time_begins_once_the_first_stop_is_out() -> None:
    rig = Stopping(None, estop_takes=0.25)
    assert rig.stop.stop(1.0) is StopOutcome.SENT
    # A driver asks its machine during the first one; the later ones are within the time.
    assert rig.sent == [0.0, 0.75] and rig._now() == 1.25


def test_a_link_that_goes_after_the_stop_leaves_it_sent_and_before_it_not_sent() -> None:
    rig = Stopping(None)
    rig.error = LinkError("the cable is out")
    assert rig.stop.stop(1.0) is StopOutcome.NOT_SENT
    assert rig.stop.error == "the cable is out"
    rig.error = None
    rig.link.stop = lambda: (rig._stop(), setattr(rig, "error", LinkError("the cable is out")))[0]
    assert rig.stop.stop(1.0) is StopOutcome.SENT
    assert rig.stop.error == "the cable is out"


@pytest.mark.parametrize(
    ("outcome", "can", "says"),
    [
        (None, True, ""),
        (StopOutcome.CONFIRMED, True, ""),
        (StopOutcome.NOT_SENT, True, "rig is gone; is the cable in?"),
        (StopOutcome.SENT, True, "rig did not answer whether it is stopped"),
        (StopOutcome.SENT, False, "its driver has no query that confirms a stop"),
    ],
)
def test_what_the_rig_says_of_its_stop_is_what_is_said(
    outcome: StopOutcome | None, can: bool, says: str
) -> None:
    rig = Stopping(0.0, STOPPED.model_copy(update={"stop": outcome}))
    rig.link.confirms_stop = can
    assert rig.stop.stop(1.0) is (StopOutcome.CONFIRMED if outcome is None else outcome)
    assert rig.stop.error == says


def test_a_reset_is_asked_for_each_half_second_for_its_time() -> None:
    rig = Stopping(0.7, wire.Status(state="online"))
    assert rig.stop.reset(1.2)
    assert rig.sent == [0.0] and rig.asked == [0.5, 0.5]
    still = Stopping(0.0, STOPPED)
    assert not still.stop.reset(1.2)
    assert not Stopping(None).stop.reset(1.2)
    late = Stopping(None)
    assert not late.stop.reset(1.2)
    assert late.asked == [0.5, 0.5, 0.2] and late._now() == pytest.approx(1.2)


@pytest.mark.parametrize(("m", "outcome"), [(4999, StopOutcome.SENT), (5000, StopOutcome.CONFIRMED)])
def test_a_status_of_before_the_stop_that_comes_late_confirms_nothing(m: int, outcome: StopOutcome) -> None:
    stopping = Stopping(0.1, STOPPED.model_copy(update={"m": m}))
    assert stopping.stop.stop(1.0) is outcome


def test_a_ping_during_the_stop_tells_of_a_clock_that_fell_behind() -> None:
    stopping = Stopping(0.1, STOPPED.model_copy(update={"m": 4900}))
    stopping.peer.clock = SimpleNamespace(
        device_ms=lambda host: int(1000 * (host - 100.0)) + (5000 if stopping._now() < 0.4 else 4800)
    )
    assert stopping.stop.stop(1.2) is StopOutcome.CONFIRMED
    assert stopping.sent == [0.0, 0.5]


def test_a_status_that_may_be_of_before_the_stop_confirms_nothing_and_is_asked_for_again() -> None:
    """Pings have told the clock to 0.2 s: of a status within these nobody knows whether it is late."""
    doubtful = Stopping(0.1, STOPPED.model_copy(update={"m": 5199}))
    doubtful.peer.clock.spread, doubtful.link.brokered = 0.2, True
    assert doubtful.stop.stop(1.0) is StopOutcome.SENT
    assert doubtful.asked == [0.2, 0.3, 0.2, 0.3] and len(doubtful.sent) == 2
    certain = Stopping(0.3, STOPPED.model_copy(update={"m": 5200}))
    certain.peer.clock.spread, certain.link.brokered = 0.2, True
    assert certain.stop.stop(1.0) is StopOutcome.CONFIRMED
    assert certain.asked == [0.2, 0.3] and len(certain.sent) == 1 and certain._now() == 0.3
    in_order = Stopping(0.1, STOPPED.model_copy(update={"m": 5000}))
    in_order.peer.clock.spread = 0.2
    assert in_order.stop.stop(1.0) is StopOutcome.CONFIRMED and in_order.asked == [0.5]
    unknown = Stopping(0.1, STOPPED.model_copy(update={"m": 1}))
    unknown.link.brokered = True
    unknown.peer.clock.latest_ms = lambda host: None
    assert unknown.stop.stop(1.0) is StopOutcome.CONFIRMED


def test_one_of_two_devices_confirms_no_stop() -> None:
    stopping = Stopping(0.1, STOPPED)
    stopping.peer.conflict = "two devices answer as rig"
    assert stopping.stop.stop(1.0) is StopOutcome.SENT
    assert stopping.stop.error == "two devices answer as rig"
