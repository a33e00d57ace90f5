"""The person at the terminal hears after three seconds that a stop is not confirmed, while asking goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from bridge_rig import wait_until

from configs.rig_config import RigConfig
from core_eval.rig import session as rig_session
from core_eval.rig.session import RigSession
from devices.stop_outcome import StopOutcome
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

    def estop(self) -> None:
        self.asked.set()
        assert self.answered.wait(20)


LINE = (
    "pathrig: RIG bench: THE STOP IS NOT CONFIRMED AFTER 0.2 S. IT MAY STILL MOVE: USE ITS OWN STOP. "
    "Asking goes on.\n"
)


def test_the_capital_line_comes_once_while_the_machine_is_still_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rig_session.STOP_SECONDS == 3.0
    monkeypatch.setattr(rig_session, "STOP_SECONDS", 0.2)
    link, said = SlowLink(), list[str]()
    monkeypatch.setattr(rig_session, "tell_terminal", lambda line: said.append(f"pathrig: {line}\n"))
    session = RigSession(RigConfig(name="bench", url="serial:///dev/x"), None, link)
    stopping = threading.Thread(target=session.make_safe)
    stopping.start()
    assert link.asked.wait(20)
    assert wait_until(lambda: bool(said)) and stopping.is_alive(), "it is told while the machine is asked"
    link.answered.set()
    stopping.join(30)
    session.make_safe()
    assert said == [LINE]


def test_a_machine_that_answers_in_time_gets_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(rig_session, "tell_terminal", said.append)
    monkeypatch.setattr(rig_session, "STOP_SECONDS", 0.2)
    link = SlowLink()
    link.answered.set()
    session = RigSession(RigConfig(name="bench", url="serial:///dev/x"), None, link)
    monkeypatch.setattr(session.client, "estop", lambda timeout: StopOutcome.CONFIRMED)
    assert session.make_safe() is StopOutcome.CONFIRMED
    threading.Event().wait(0.4)
    assert said == []
