"""The heartbeat of the relay that cuts the supply: there while a host lives, and gone with it."""

from __future__ import annotations

import os
import select
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest
from given_clock import GivenClock
from served_rig_side import ScriptedLink, Served

from configs.errors import ConfigError
from configs.rigs_loader import load_rig
from firmware_bridge import link as link_module
from firmware_bridge.link import LinkError
from firmware_bridge.rig_process.deadman import Deadman
from firmware_bridge.rig_process.protocol import Kind, frame

pytestmark = [pytest.mark.stops, pytest.mark.serial]


class Relay:
    """The relay's end of its port."""

    def __init__(self) -> None:
        self.master, slave = os.openpty()
        tty.setraw(slave)
        self.path = os.ttyname(slave)
        self._slave = slave

    def heard(self, seconds: float = 0.3) -> bytes:
        """What came, once nothing has come for a moment."""
        came = b""
        while select.select([self.master], [], [], seconds)[0]:
            came += os.read(self.master, 100)
        return came

    def close(self) -> None:
        os.close(self.master)
        os.close(self._slave)


@pytest.fixture
def relay() -> Iterator[Relay]:
    relay = Relay()
    yield relay
    relay.close()


def test_it_beats_each_half_second_while_the_host_lives_and_no_longer(relay: Relay) -> None:
    served = Served(ScriptedLink(), f"serial://{relay.path}")
    assert served.features["unattended"] == "a relay cuts its supply after 2 s without a heartbeat"
    assert relay.heard() == b"H"
    served.clock.jump(0.49)
    served.look()
    assert relay.heard() == b"", "none is due"
    served.clock.jump(0.02)
    served.look()
    assert relay.heard() == b"H"
    served.ask(Kind.ENSURE, b"0.5")
    served.clock.jump(3.01)
    served.look()
    served.next(Kind.STRUCK)
    relay.heard()
    for _ in range(3):
        served.clock.jump(1.0)
        served.look()
    assert relay.heard() == b"", "the host is silent"
    served.host.sendall(frame(Kind.BEAT))
    served.look()
    assert relay.heard().startswith(b"H"), "and back"
    served.host.close()
    served.ended()
    assert relay.heard() == b""


def test_a_relay_that_is_gone_is_told_once_and_stops_nothing(
    relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(link_module, "_tell", [told.append])
    clock = GivenClock()
    deadman = Deadman(f"serial://{relay.path}", clock)
    os.close(relay.master)
    os.close(relay._slave)
    for _ in range(3):
        deadman.beat()
        clock.jump(1.0)
    relay.__init__()  # type: ignore[misc]
    assert len(told) == 1 and told[0].endswith("is gone, and cuts the machine's supply")


def test_a_port_that_is_not_there_is_said() -> None:
    with pytest.raises(LinkError, match="deadman: there is no serial port /dev/nowhere"):
        Deadman("serial:///dev/nowhere", GivenClock())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("url: serial:///dev/ttyA\ndeadman: mqtt://h/r\n", "the relay's serial port, as in serial:///dev"),
        ("url: mqtt://h/r\ndeadman: serial:///dev/ttyB\n", "has a rig process to send it: remove it"),
    ],
)
def test_a_rig_without_a_rig_process_has_no_heartbeat(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "rig.yaml").write_text(f"name: a\n{text}")
    with pytest.raises(ConfigError, match=says):
        load_rig(str(tmp_path / "rig.yaml"))
