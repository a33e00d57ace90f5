"""The machine behind a driver, on a wire of the test: its stop, what is owed, how it is taken up again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from bridge_rig import wait_until
from given_clock import GivenClock, PlannedClock

from devices.drivers.driver_file import DriverFile
from devices.drivers.patterns import MachineMessage
from devices.drivers.settings import Settings
from devices.drivers.tool_driver import DriverFault, Stopped
from devices.outcome import StopOutcome
from devices.rig_motion import Event
from firmware_bridge.clock import MONOTONIC, Clock
from firmware_bridge.drivers import machine as machine_module
from firmware_bridge.drivers.machine import Machine
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
        self.opens = self.closes = self.tries = 0
        self.greets = True
        self.pulled_by = ""

    @property
    def connected(self) -> bool:
        return self.opened and not self.cut

    def open(self, on_message: Callable[[MachineMessage], None], on_lost: Callable[[], None]) -> None:
        self.tries += bool(self.opens)
        if self.cut:
            raise LinkError("the cable is out")
        self.opens += 1
        self.opened, self._say, self._on_lost = True, on_message, on_lost
        if self.greets:
            self.say("READY")

    def say(self, text: str) -> None:
        self._say(MachineMessage("", text))

    def pull(self) -> None:
        self.cut, self.opened = True, False
        self._on_lost()

    def write(self, data: bytes) -> None:
        if not self.connected:
            raise LinkError("the cable is out")
        text = data.decode().strip()
        self.log.append(text)
        if text == self.pulled_by:
            self.pull()
            return
        if text in self.answers:
            self.say(self.answers[text])

    write_at_once = write

    def publish(self, topic: str, payload: str, *, retain: bool = False) -> None:
        raise LinkError("a line has no topics")

    def taken(self) -> bool:
        return True

    def close(self) -> None:
        self.closes += 1


class Rig:
    """An open machine that was used."""

    def __init__(self, clock: Clock = MONOTONIC, **change: Any) -> None:
        self.wire = Wire()
        driver = DriverFile.model_validate(DRIVER | change)
        self.machine = Machine(driver, Settings({}, {}), self.wire, "", lambda name, value: None, clock)
        self.reported: list[StopOutcome | None] = []
        self.machine.on_wire = self.reported.append
        # No greeting comes by itself: the driver wakes it.
        self.machine.open()
        self.machine.rig.on(Event.DRIVE)
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
    assert rig.machine.rig.halted and not rig.machine.stop_owed
    del rig.wire.answers["standing?"]
    assert rig.machine.stop() is StopOutcome.SENT
    assert not rig.machine.stop_owed, "the wire is there"


def test_a_successor_stops_before_it_waits_for_the_greeting() -> None:
    wire, clock = Wire(), PlannedClock()
    wire.greets = False
    wire.write_at_once = lambda data: wire.log.append(f"{data.decode()} at {clock.passed:g}")  # type: ignore[method-assign]
    driver = DriverFile.model_validate(
        DRIVER | {"boot": {"seconds": 3, "expect": ["^READY$"], "wake": [{"send": "setup"}]}}
    )
    machine = Machine(driver, Settings({}, {}), wire, "", lambda name, value: None, clock)
    machine.open(stop_first=True)
    assert wire.log == ["! at 0", "setup"] and clock.passed == pytest.approx(3.0)


def test_nothing_goes_out_between_a_stop_and_its_reset(rig: Rig) -> None:
    rig.machine.stop()
    with pytest.raises(Stopped):
        rig.machine.output().line(b"move")
    rig.machine.output(obeys_stop=False).raw(b"?")
    assert rig.wire.log == ["!", "standing?", "?"]
    rig.machine.leave_stop()
    rig.machine.output().line(b"move")
    assert rig.wire.log[3:] == ["leave", "move"]


def test_a_machine_that_does_not_leave_its_stop_stays_stopped(rig: Rig) -> None:
    rig.machine.stop()
    del rig.wire.answers["leave"]
    with pytest.raises(Exception, match="leave"):
        rig.machine.leave_stop()
    assert rig.machine.rig.halted


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
    rig.machine.rig.driven = False
    rig.wire.pull()
    assert not rig.machine.stop_owed and rig.reported == [None]


def test_a_wire_that_never_comes_back_owes_nothing(rig: Rig) -> None:
    rig.wire.comes_back = False
    rig.wire.pull()
    assert not rig.machine.stop_owed


def test_a_machine_of_unknown_state_is_stopped_and_started_anew(rig: Rig) -> None:
    rig.machine.mark_unknown()
    assert rig.wire.log == ["!", "standing?"] and not rig.machine.rig.halted
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


def test_a_wire_that_is_lost_while_the_machine_is_asked_owes_its_stop(rig: Rig) -> None:
    rig.wire.pulled_by = "standing?"
    assert rig.machine.stop() is StopOutcome.SENT
    assert rig.machine.stop_owed


def test_a_machine_without_a_greeting_and_without_a_way_to_wake_it_is_no_rig() -> None:
    wire = Wire()
    wire.greets = False
    machine = Machine(
        DriverFile.model_validate(DRIVER),
        Settings({}, {}),
        wire,
        "",
        lambda name, value: None,
        PlannedClock(),
    )
    with pytest.raises(LinkError, match=r"It sent no greeting within 0.05 s\."):
        machine.open()


ASLEEP = {"boot": {"seconds": 4.0, "expect": ["^READY$"], "wake": [{"send": "wake"}]}}


def test_a_machine_that_says_nothing_at_all_is_a_lost_link_until_it_says_something() -> None:
    rig = Rig(PlannedClock(), boot={})
    del rig.wire.answers["standing?"]
    rig.machine.mark_unknown()
    assert not rig.machine.connected and rig.wire.connected and rig.reported == [None]
    assert rig.machine.why_down == "wire does not answer"
    with pytest.raises(LinkError, match="wire does not answer"):
        rig.machine.reconnect()
    rig.machine.mark_unknown()
    assert rig.reported == [None], "told once"
    rig.wire.log.clear()
    rig.wire.answers["standing?"] = "yes"
    rig.machine.reconnect()
    assert rig.wire.log == ["!", "standing?"], "stopped first"
    assert rig.machine.connected and rig.reported == [None, StopOutcome.CONFIRMED]
    rig.machine.close()


@pytest.mark.parametrize("answer", ["no", "what?"])
def test_a_machine_that_says_something_else_is_not_mute(answer: str) -> None:
    rig = Rig(PlannedClock(), boot={})
    rig.wire.answers["standing?"] = answer
    rig.machine.mark_unknown()
    assert rig.machine.connected and rig.reported == []
    rig.machine.close()


def test_a_mute_machine_whose_cable_is_pulled_is_gone() -> None:
    rig = Rig(PlannedClock(), boot={})
    del rig.wire.answers["standing?"]
    rig.machine.mark_unknown()
    rig.machine.rig.driven = False
    rig.wire.pull()
    assert rig.machine.why_down == "wire is gone; is the cable in?" and rig.reported == [None]
    rig.machine.close()


@pytest.mark.parametrize(("greets_at", "woken"), [(3.99, False), (4.01, True)])
def test_a_greeting_has_the_boots_seconds_and_then_the_machine_is_woken(
    greets_at: float, woken: bool
) -> None:
    clock, wire = PlannedClock(), Wire()
    wire.greets = False
    wire.answers["wake"] = "ok"
    driver = DriverFile.model_validate(DRIVER | ASLEEP)
    machine = Machine(driver, Settings({}, {}), wire, "", lambda name, value: None, clock)
    clock.at(greets_at, lambda: wire.say("READY"))
    machine.open()
    assert clock.passed == pytest.approx(min(greets_at, 4.0)) and wire.log == (["wake"] if woken else [])
    machine.close()


def test_a_machine_that_restarts_during_its_start_is_started_three_times_0_3_s_apart() -> None:
    clock, wire = PlannedClock(), Wire()
    wire.answers["setup"] = "BANNER"
    boot = {"banner": ["^BANNER$"], "start": [{"send": "setup"}]}
    driver = DriverFile.model_validate(DRIVER | {"boot": boot})
    machine = Machine(driver, Settings({}, {}), wire, "", lambda name, value: None, clock)
    with pytest.raises(LinkError, match="started anew"):
        machine.open()
    assert wire.log == ["setup"] * 3 and clock.passed == pytest.approx(0.6)


def test_a_lost_wire_is_opened_again_each_quarter_of_a_second() -> None:
    clock = GivenClock()
    rig = Rig(clock, boot={})
    rig.wire.pull()
    clock.threads(1)
    clock.advance(0.74)
    assert rig.wire.tries == 2 and rig.reported == [None]
    rig.wire.cut = False
    clock.threads(0)
    clock.jump(0.01)
    assert wait_until(lambda: rig.reported == [None, StopOutcome.CONFIRMED])
    rig.machine.close()


def test_the_heartbeat_beats_in_its_time_and_its_silence_makes_the_state_unknown() -> None:
    clock = GivenClock()
    beat = {"every": 1.0, "steps": [{"send": "alive?", "tries": 2, "seconds": 0.5}]}
    rig = Rig(clock, boot={}, heartbeat=beat)
    clock.threads(1)
    rig.wire.answers["alive?"] = "ok"
    clock.advance(0.99)
    assert rig.wire.log == []
    clock.advance(1.01)
    assert rig.wire.log == ["alive?"] * 2
    rig.machine.ensure()
    del rig.wire.answers["alive?"]
    clock.advance(2.02)
    assert rig.wire.log == ["alive?"] * 4
    rig.wire.log.clear()
    clock.threads(0)
    rig.machine.ensure()
    assert rig.wire.log[:1] == ["!"], "stopped and started anew"
    rig.machine.close()


@pytest.mark.parametrize(("at", "comes"), [(0.04, True), (0.06, False)])
def test_a_step_waits_just_its_seconds(at: float, comes: bool) -> None:
    clock = PlannedClock()
    rig = Rig(clock, boot={})
    del rig.wire.answers["leave"]
    rig.machine.stop()
    clock.later(at, lambda: rig.wire.say("ok"))
    if comes:
        rig.machine.leave_stop()
    else:
        with pytest.raises(DriverFault, match=r"did not answer 'leave' within 0.05 s"):
            rig.machine.leave_stop()
    assert clock.passed == pytest.approx(min(at, 0.05))
    rig.machine.close()
