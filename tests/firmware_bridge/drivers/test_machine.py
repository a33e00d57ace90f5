"""The machine behind a driver, on a wire of the test: its stop, what is owed, how it is taken up again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from bridge_rig import wait_until

from devices.drivers.driver_file import DriverFile
from devices.drivers.patterns import Message
from devices.drivers.settings import Settings
from devices.stop_outcome import StopOutcome
from firmware_bridge.drivers import machine as machine_module
from firmware_bridge.drivers.machine import Machine, Output
from firmware_bridge.drivers.steps import Stopped
from firmware_bridge.link import LinkError

pytestmark = pytest.mark.stops

DRIVER: dict[str, Any] = {
    "name": "m",
    "description": "m",
    "link": "serial",
    "device": "farm_rover",
    "memory": {"safety": "unlocked"},
    "answers": {"done": ["^ok$"], "seconds": 0.05},
    "boot": {"seconds": 0.05, "expect": ["^READY$"], "start": [{"send": "setup"}]},
    "stop": {
        "send": "!",
        "remember": {"safety": "locked"},
        "settle": [{"send": "standing?", "expect": ["^yes$"]}],
    },
    "reset": [{"send": "leave"}],
}


class Wire:
    """A line whose far end answers by a table; it can be cut and mended."""

    name, comes_back = "wire", True

    def __init__(self) -> None:
        self.answers = {"setup": "ok", "standing?": "yes", "leave": "ok"}
        self.log: list[str] = []
        self.cut = self.opened = False
        self.opens = self.closes = 0

    @property
    def connected(self) -> bool:
        return self.opened and not self.cut

    def open(self, on_message: Callable[[Message], None], on_lost: Callable[[], None]) -> None:
        if self.cut:
            raise LinkError("the cable is out")
        self.opens += 1
        self.opened, self._say, self._on_lost = True, on_message, on_lost
        on_message(Message("", "READY"))

    def pull(self) -> None:
        self.cut, self.opened = True, False
        self._on_lost()

    def write(self, data: bytes) -> None:
        if not self.connected:
            raise LinkError("the cable is out")
        text = data.decode().strip()
        self.log.append(text)
        if text in self.answers:
            self._say(Message("", self.answers[text]))

    write_at_once = write

    def publish(self, topic: str, payload: str, *, retain: bool = False) -> None:
        raise LinkError("a line has no topics")

    def close(self) -> None:
        self.closes += 1


class Rig:
    """An open machine that was used."""

    def __init__(self, **change: Any) -> None:
        self.wire = Wire()
        driver = DriverFile.model_validate(DRIVER | change)
        self.machine = Machine(driver, Settings({}, {}), self.wire, "", lambda name, value: None)
        self.reported: list[StopOutcome | None] = []
        self.machine.on_wire = self.reported.append
        # No greeting comes by itself: the driver wakes it.
        self.machine.open()
        self.machine.touched = True
        self.wire.log.clear()


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    monkeypatch.setattr(machine_module, "RETRY_S", 0.01)
    rig = Rig(
        boot={
            "seconds": 0.05,
            "expect": ["^READY$"],
            "wake": [{"send": "setup"}],
            "start": [{"send": "setup"}],
        }
    )
    yield rig
    rig.machine.close()
    assert rig.wire.closes == 1


def test_a_stop_goes_first_and_is_confirmed_by_the_answer_alone(rig: Rig) -> None:
    assert rig.machine.confirms_stop and rig.machine.memory == {"safety": "unlocked"}
    assert rig.machine.stop() is StopOutcome.CONFIRMED
    assert rig.wire.log == ["!", "standing?"] and rig.machine.memory == {"safety": "locked"}
    assert rig.machine.halted.is_set() and not rig.machine.stop_owed
    del rig.wire.answers["standing?"]
    assert rig.machine.stop() is StopOutcome.SENT
    assert not rig.machine.stop_owed, "the wire is there"


def test_nothing_goes_out_between_a_stop_and_its_reset(rig: Rig) -> None:
    rig.machine.stop()
    with pytest.raises(Stopped):
        Output(rig.machine).line(b"move")
    Output(rig.machine, obeys_stop=False).raw(b"?")
    assert rig.wire.log == ["!", "standing?", "?"]
    rig.machine.leave_stop()
    Output(rig.machine).line(b"move")
    assert rig.wire.log[3:] == ["leave", "move"]


def test_a_machine_that_does_not_leave_its_stop_stays_stopped(rig: Rig) -> None:
    rig.machine.stop()
    del rig.wire.answers["leave"]
    with pytest.raises(Exception, match="leave"):
        rig.machine.leave_stop()
    assert rig.machine.halted.is_set()


def test_a_wire_that_is_lost_owes_its_stop_and_gets_it_first_when_it_is_back(rig: Rig) -> None:
    rig.wire.pull()
    assert rig.reported == [None] and rig.machine.stop_owed
    assert rig.machine.stop() is StopOutcome.NOT_SENT
    with pytest.raises(LinkError):
        rig.machine.leave_stop()
    with pytest.raises(LinkError):
        rig.machine.reconnect()
    rig.wire.log.clear()
    rig.wire.cut = False
    assert wait_until(lambda: rig.reported == [None, StopOutcome.CONFIRMED])
    assert rig.wire.log[:2] == ["!", "standing?"] and not rig.machine.stop_owed


def test_a_wire_that_was_only_looked_at_owes_nothing(rig: Rig) -> None:
    rig.machine.touched = False
    rig.wire.pull()
    assert not rig.machine.stop_owed and rig.reported == [None]


def test_a_wire_that_never_comes_back_owes_nothing(rig: Rig) -> None:
    rig.wire.comes_back = False
    rig.wire.pull()
    assert not rig.machine.stop_owed


def test_a_machine_of_unknown_state_is_stopped_and_started_anew(rig: Rig) -> None:
    rig.machine.mark_unknown()
    assert rig.wire.log == ["!", "standing?"] and not rig.machine.halted.is_set()
    rig.wire.log.clear()
    rig.machine.ensure()
    assert rig.wire.log == ["!", "setup", "setup", "standing?", "leave"]
    assert rig.reported == [StopOutcome.CONFIRMED]
    rig.machine.ensure()
    assert len(rig.wire.log) == 5, "once"


def test_a_driver_without_a_question_never_confirms(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(stop={"send": "!"}, boot={"start": [{"send": "setup"}]})
    assert not rig.machine.confirms_stop
    assert rig.machine.stop() is StopOutcome.SENT and rig.wire.log == ["!"]
    rig.machine.close()


def test_a_machine_that_says_nothing_is_no_rig() -> None:
    wire = Wire()
    wire.answers = {}
    machine = Machine(DriverFile.model_validate(DRIVER), Settings({}, {}), wire, "", lambda name, value: None)
    with pytest.raises(LinkError, match="does not answer as m does"):
        machine.open()
    assert wire.closes == 1
