"""The person at the terminal hears after three seconds that a stop is not confirmed, while asking goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from bridge_rig import wait_until
from given_clock import GivenClock

from configs.rig_config import RigConfig
from core_eval.rig import session as rig_session
from core_eval.rig.session import RigSession
from devices.outcome import StopOutcome
from firmware_bridge.link import Link, OnFrame

pytestmark = pytest.mark.stops


class SlowLink(Link):
    """Its stop returns once the machine has answered, or the driver has asked for the last time."""

    name = "slow"

    def __init__(self) -> None:
        self.answered, self.asked = threading.Event(), threading.Event()

    @property
    def connected(self) -> bool:
        return True

    def attach(self, on_frame: OnFrame, on_state: Callable[[bool], None]) -> None: ...
    def ensure(self, timeout: float) -> None: ...
    def send(self, payload: bytes) -> None: ...
    def close(self) -> None: ...

    def estop(self) -> StopOutcome | None:
        self.asked.set()
        assert self.answered.wait(20)
        return None


LINE = "RIG bench: THE STOP IS NOT CONFIRMED AFTER 3 S. IT MAY STILL MOVE: USE ITS OWN STOP. Asking goes on."


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(rig_session, "tell_terminal", said.append)
    return said


def test_the_capital_line_comes_once_after_three_seconds_while_the_machine_is_still_asked(
    said: list[str],
) -> None:
    link, clock = SlowLink(), GivenClock()
    session = RigSession(RigConfig(name="bench", url="serial:///dev/x"), None, link, clock=clock)
    stopping = threading.Thread(target=session.make_safe)
    stopping.start()
    assert link.asked.wait(20)
    clock.threads(1)
    clock.advance(2.99)
    assert said == []
    clock.threads(0)
    clock.jump(0.02)
    assert wait_until(lambda: said == [LINE]) and stopping.is_alive(), "it is told while the machine is asked"
    link.answered.set()
    again = threading.Thread(target=session.make_safe)
    for thread in (stopping, again):
        if thread is again:
            again.start()
        while thread.is_alive():
            clock.jump(0.5)
            thread.join(0.01)
    assert said == [LINE], "once in a session"


def test_a_machine_that_answers_in_time_gets_no_line(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    link, clock = SlowLink(), GivenClock()
    session = RigSession(RigConfig(name="bench", url="serial:///dev/x"), None, link, clock=clock)

    def stop(timeout: float) -> StopOutcome:
        clock.threads(1)
        clock.advance(2.99)
        return StopOutcome.CONFIRMED

    monkeypatch.setattr(session.client, "estop", stop)
    assert session.make_safe() is StopOutcome.CONFIRMED
    clock.threads(0)
    assert wait_until(lambda: not any(thread.name == "patience" for thread in threading.enumerate()))
    clock.jump(10.0)
    assert said == []
