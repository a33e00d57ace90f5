"""Two devices under one name, and one that started anew: the host tells them apart by `boot`."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from bridge_rig import wait_until
from fake_link import FakeLink, polite

from firmware_bridge import messages as wire
from firmware_bridge.boots import Boots
from firmware_bridge.client import RigClient
from firmware_bridge.link import LinkError

pytestmark = pytest.mark.broker


def status(boot: str | None, state: Any = "online") -> wire.Status:
    return wire.Status(state=state, boot=boot)


def test_one_boot_after_another_is_a_device_that_started_anew() -> None:
    boots = Boots()
    assert not boots.take(status("a"), True) and not boots.take(status("a"), False)
    assert boots.take(status("b"), False) and boots.take(status("c"), False)
    assert not boots.take(status("c"), False)
    assert not boots.conflict


def test_a_boot_that_comes_back_is_a_second_device() -> None:
    boots = Boots()
    for boot in "ab":
        boots.take(status(boot), False)
    assert not boots.conflict
    boots.take(status("a"), False)
    assert boots.conflict


@pytest.mark.parametrize(
    ("late", "retained"), [(status("a", "offline"), False), (status("a"), True), (status(None), False)]
)
def test_a_late_will_an_old_copy_and_a_status_without_boot_are_no_second_device(
    late: wire.Status, retained: bool
) -> None:
    boots = Boots()
    for boot in "ab":
        boots.take(status(boot), False)
    assert not boots.take(late, retained) and not boots.conflict
    assert boots.current == "b"


def test_what_a_broker_kept_of_a_device_that_is_gone_shows_no_restart() -> None:
    boots = Boots()
    boots.take(status("old"), True)
    assert not boots.take(status("new"), False) and boots.current == "new"


class Devices:
    """Devices under one name; each says its boot, and only the first one does what it is told.

    They answer a ping after each hello that came before it, as on a wire, where frames keep their order.
    """

    def __init__(self, *boots: str) -> None:
        self.boots = list(boots)
        self.answers = True
        self.told: list[int] = []

    def __call__(self, link: FakeLink, message: dict[str, Any]) -> None:
        if message["op"] == "ping":
            wait_until(lambda: len(self.told) >= max(len(self.boots), len(link.of("hello"))))
        if message["op"] == "hello":
            for boot in list(self.boots):
                link.say({"op": "status", "state": "online", "boot": boot})
            self.told.append(len(self.boots))
        elif message["op"] != "call" or self.answers:
            polite(link, message)


def test_two_devices_are_refused_when_a_rig_is_opened() -> None:
    link = FakeLink(Devices("a", "b"))
    with pytest.raises(LinkError, match="two devices answer as fake"), RigClient(link) as client:
        client.open()
    assert link.stops == 0, "another host may be at work with one of them"


def test_a_second_device_that_comes_later_ends_the_driving() -> None:
    devices = Devices("a")
    link = FakeLink(devices)
    with RigClient(link) as client:
        client.open()
        assert client.call("t", {}).status == "ok"
        devices.boots.append("b")
        link.say({"op": "status", "state": "online", "boot": "b"})
        assert wait_until(lambda: client.peer.conflict is not None)
        outcome = client.call("t", {})
        assert (outcome.status, outcome.code) == ("fault", "two_devices")
        assert "two devices answer as fake" in str(outcome.message)
        with pytest.raises(LinkError, match="two devices"):
            client.regain(1.0)


def test_a_device_that_starts_anew_in_mid_call_is_a_reset_at_once_and_driven_on() -> None:
    devices = Devices("a")
    devices.answers = False
    link = FakeLink(devices)

    def restart() -> None:
        assert wait_until(lambda: bool(link.of("call")))
        devices.boots[:] = ["b"]
        link.say({"op": "status", "state": "offline", "boot": "a"})
        link.say({"op": "status", "state": "online", "boot": "b"})
        # The call is noted before it is answered: now it is too late for an answer.
        devices.answers = True

    with RigClient(link) as client:
        client.open()
        threading.Thread(target=restart, daemon=True).start()
        began = time.monotonic()
        assert client.call("t", {}, timeout=60.0).code == "device_reset"
        assert time.monotonic() - began < 30.0
        assert len(link.of("call")) == 1
        assert [client.call("t", {}).status for _ in range(3)] == ["ok"] * 3
        assert client.peer.conflict is None


def test_the_last_will_of_the_device_before_does_not_take_the_rig_offline() -> None:
    devices = Devices("a")
    link = FakeLink(devices)
    with RigClient(link) as client:
        client.open()
        devices.boots[:] = ["b"]
        link.say({"op": "status", "state": "online", "boot": "b"})
        link.say({"op": "status", "state": "offline", "boot": "a"})
        assert client.status is not None and client.status.state == "online"
