"""The rig process's own loop, in this process: a socket pair, a scripted link, and the test's clock."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from bridge_rig import wait_until
from given_clock import PlannedClock
from served_rig_side import ScriptedLink, Served

from devices.outcome import StopOutcome
from devices.rig_motion import Event, Motion
from firmware_bridge import link as link_module
from firmware_bridge.codec import CodecError, decode_device_message
from firmware_bridge.link import Link, LinkError, LinkGoneError, PortInUse, tell_terminal
from firmware_bridge.messages import Status
from firmware_bridge.rig_process import rig_side
from firmware_bridge.rig_process.protocol import STRIKE, Kind, frame, numbered, request
from firmware_bridge.rig_process.rig_side import strike

pytestmark = pytest.mark.stops


@pytest.fixture
def served() -> Iterator[Served]:
    link = ScriptedLink()
    served = Served(link)
    yield served
    link.owed = False
    link.gate.set()
    served.host.close()
    served.ended()


def test_it_tells_the_features_of_its_link_and_passes_messages_on(served: Served) -> None:
    assert (served.features["name"], served.features["default_max_frame"]) == ("serial:///dev/rig", 512)
    assert served.features.pop("up") is True
    assert all(hasattr(Link, name) or name == "name" for name in served.features)
    assert served.features["status_source"] == "device" and served.features["confirms_stop"]
    served.host.sendall(frame(Kind.MESSAGE, b"{1}") + frame(Kind.MESSAGE, b"{2}") + frame(Kind.DISCARD))
    assert wait_until(lambda: served.link.sent == [b"{1}", b"{2}"] and served.link.discards == 1)
    served.link.on_frame(b"x" * 300_000, False)
    assert served.next(Kind.MESSAGE) == b"x" * 300_000
    served.link.on_state(False)
    served.next(Kind.DOWN)
    served.link.on_state(True)
    served.next(Kind.UP)


def test_a_silent_host_is_stopped_for_at_three_seconds(served: Served) -> None:
    served.clock.jump(2.99)
    served.look()
    served.next(Kind.BEAT)
    assert served.link.stops == 0
    served.clock.jump(0.02)
    served.look()
    served.next(Kind.STRUCK)
    assert wait_until(lambda: served.link.stops == 1), "confirmed by the first one"
    served.host.sendall(frame(Kind.BEAT))
    served.ask(Kind.ENSURE, b"1.0")
    served.clock.jump(3.0)
    served.look()
    served.next(Kind.STRUCK)
    assert wait_until(lambda: served.link.stops == 2), "and at the second silence"


def test_the_hosts_beat_keeps_it_from_striking(served: Served) -> None:
    for _ in range(6):
        served.clock.jump(2.0)
        served.host.sendall(frame(Kind.BEAT))
        served.ask(Kind.ENSURE, b"0.5")
    assert served.link.stops == 0 and not [one for one in served.got if one[0] is Kind.STRUCK]


def test_a_dead_host_is_stopped_for_at_once_and_the_link_closed(served: Served) -> None:
    served.host.close()
    served.ended()
    assert (served.link.stops, served.link.closes) == (1, 1)


def test_an_end_in_order_sends_no_stop_of_its_own(served: Served) -> None:
    assert served.ask(Kind.CLOSE) == {"late": 0.0}
    served.ended()
    assert (served.link.stops, served.link.closes) == (0, 1)


def test_stops_and_slow_requests_do_not_wait_for_each_other(served: Served) -> None:
    served.link.gate.clear()
    served.host.sendall(request(Kind.RESET, 1, b"{reset}"))
    assert served.ask(Kind.STOP, number=2) == {"outcome": "confirmed"}
    served.link.gate.set()
    number, result = numbered(served.next(Kind.DONE))
    assert (number, json.loads(result)) == (1, {"outcome": None}) and served.link.sent == [b"{reset}"]


@pytest.mark.parametrize(("error", "gone"), [(LinkError("out"), False), (LinkGoneError("out"), True)])
def test_what_fails_is_told_with_its_reason(served: Served, error: LinkError, gone: bool) -> None:
    served.link.error = served.link.ensure_error = error
    assert served.ask(Kind.STOP) == {"error": "out", "gone": gone}
    assert served.ask(Kind.ENSURE, b"0.1") == {"error": "out", "gone": gone}
    served.link.error = None


def lost(link: ScriptedLink, error: LinkError) -> None:
    link.owed, link.error, link.ensure_error = True, LinkError("out"), error


def test_a_lost_wire_with_a_stop_pending_is_waited_for_after_the_end(served: Served) -> None:
    lost(served.link, LinkError("there is no port"))
    assert served.ask(Kind.CLOSE) == {"late": 60.0}
    served.clock.threads(1)
    served.clock.advance(0.74)
    assert (served.link.ensures, served.link.stops, served.link.closes) == (3, 0, 0), "each 0.25 s"
    served.link.error = served.link.ensure_error = None
    served.clock.threads(0)
    served.clock.jump(0.01)
    served.ended()
    assert (served.link.stops, served.link.closes) == (1, 1)


def test_it_is_waited_for_a_minute(served: Served) -> None:
    lost(served.link, LinkError("there is no port"))
    served.ask(Kind.CLOSE)
    served.clock.threads(1)
    served.clock.advance(59.99)
    assert served.thread.is_alive() and (served.link.ensures, served.link.closes) == (240, 0)
    served.clock.threads(0)
    served.clock.jump(0.01)
    served.ended()
    assert (served.link.stops, served.link.closes) == (0, 1)


def test_a_port_that_another_program_has_is_left_to_it(served: Served) -> None:
    lost(served.link, PortInUse("open in another program"))
    served.ask(Kind.CLOSE)
    served.ended()
    assert (served.link.ensures, served.link.stops) == (1, 0)


@pytest.mark.parametrize(
    ("outcome", "stops"),
    [(StopOutcome.CONFIRMED, 1), (StopOutcome.SENT, 3), (None, 3)],
)
def test_a_stop_is_repeated_until_it_is_confirmed(outcome: StopOutcome | None, stops: int) -> None:
    link = ScriptedLink()
    link.outcome = outcome
    clock = PlannedClock()
    assert strike(link, STRIKE[:3], clock) and link.stops == stops
    assert clock.passed == (0.0 if stops == 1 else 0.1)
    link.error = LinkError("out")
    assert not strike(link, STRIKE, clock)
    assert clock.passed == (1.0 if stops == 1 else 1.1), "seven within a second"


def test_a_reset_ends_the_repeats() -> None:
    link, clock = ScriptedLink(), PlannedClock()
    link.outcome = None
    clock.at(0.3, lambda: link.rig.on(Event.RESET))
    strike(link, STRIKE, clock)
    assert link.stops == 4, "at 0, 0.05, 0.1 and 0.2 s"


def test_the_word_of_a_device_that_was_stopped_ends_the_repeats_and_is_the_outcome(served: Served) -> None:
    served.link.outcome = None
    served.host.sendall(frame(Kind.MESSAGE, b"{call}"))
    served.ask(Kind.ENSURE, b"0.1")
    served.link.on_frame(b'{"v":1,"op":"status","state":"estop"}', False)
    assert served.link.rig.state is Motion.MOVING, "a word before the stop is none of it"
    assert served.ask(Kind.STOP) == {"outcome": None}
    served.link.on_frame(b'{"v":1,"op":"status","state":"online"}', False)
    assert served.link.rig.outcome is StopOutcome.SENT
    served.link.on_frame(b'{"v":1,"op":"status","state":"estop"}', False)
    assert served.link.rig.outcome is StopOutcome.CONFIRMED
    served.link.outcome = StopOutcome.CONFIRMED


@pytest.mark.parametrize(
    ("said", "stopped"),
    [
        ('{"op":"status","state":"estop"}', True),
        ('{"v":1,"op":"status","state":"estop","stop":null,"m":17,"more":["estop"]}', True),
        ('{"op":"status","state":"estop","stop":"of another protocol"}', True),
        ('{"op":"status","state":"estop","stop":"sent"}', False),
        ('{"op":"status","state":"estop","stop":"not sent"}', False),
        ('{"v":2,"op":"status","state":"estop"}', False),
        ('{"op":"status","state":"online","reset":"estop"}', False),
        ('{"op":"result","id":1,"status":"ok","state":"estop"}', False),
        ('{"op":"estop"}', False),
        ('["estop"]', False),
        ('{"op":"status","state":"estop"', False),
        ('{"op":"status","state":"estop","m":NaN}', False),
    ],
)
def test_the_word_is_read_as_the_codec_reads_it(said: str, stopped: bool) -> None:
    try:
        message = decode_device_message(said.encode())
    except CodecError:
        message = None
    assert (isinstance(message, Status) and message.state == "estop" and message.stop is None) is stopped
    assert rig_side.says_stopped(said.encode()) is stopped


def test_a_host_that_is_gone_does_not_keep_a_successor_from_its_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told a line while the port is opened, and why that failed."""
    opened: list[dict[str, Any]] = []

    def open_link(**how: Any) -> Link:
        tell_terminal("waiting for the port")
        opened.append(how)
        raise LinkError("no such port")

    module = ModuleType("an_opener")
    module.open_link = open_link  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "an_opener", module)
    monkeypatch.setattr(link_module, "_tell", [print])
    for name in ("name_process", "stay_alive"):
        monkeypatch.setattr(rig_side, name, lambda *_: None)
    monkeypatch.setattr(rig_side.signal, "signal", lambda *_: None)
    ours, its = socket.socketpair()
    ours.close()
    rig_side.main(its.detach(), "an_opener:open_link", {}, None, successor=True)
    assert opened == [{"stop_first": True}]
