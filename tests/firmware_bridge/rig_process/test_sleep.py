"""A suspend that logind announces: the rig is stopped first. The system bus is private, and so is logind."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bridge_rig import wait_until
from jeepney import DBusAddress, MessageType, message_bus, new_method_return, new_signal
from jeepney.io.blocking import Proxy, open_dbus_connection
from served_rig_side import ScriptedLink, Served

from firmware_bridge.rig_process.sleep_guard import INTERFACE, NAME, PATH, SleepGuard

pytestmark = [
    pytest.mark.stops,
    pytest.mark.skipif(shutil.which("dbus-daemon") is None, reason="needs dbus-daemon"),
]


@pytest.fixture
def system_bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    address = f"unix:path={tmp_path / 'bus'}"
    config = tmp_path / "bus.conf"
    config.write_text(
        f"<busconfig><type>session</type><listen>{address}</listen><auth>EXTERNAL</auth>"
        '<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>'
        '<allow own="*"/></policy></busconfig>'
    )
    command = ["dbus-daemon", f"--config-file={config}", "--nofork", "--print-address"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as daemon:
        assert daemon.stdout is not None and daemon.stdout.readline()
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
        yield address
        daemon.terminate()


class Logind:
    """Takes inhibitors as logind does, and tells that the machine goes to sleep or wakes."""

    def __init__(self) -> None:
        self._bus = open_dbus_connection("SYSTEM", enable_fds=True)
        Proxy(message_bus, self._bus).RequestName(NAME)
        self.asked: list[tuple[str, ...]] = []
        self.ends: list[int] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        try:
            while True:
                message = self._bus.receive()
                if message.header.message_type is MessageType.method_call:
                    self.asked.append(message.body)
                    ours, its = os.pipe()
                    self._bus.send(new_method_return(message, "h", (its,)))
                    os.close(its)
                    self.ends.append(ours)
        except Exception:
            return

    def say(self, goes_to_sleep: bool) -> None:
        manager = DBusAddress(PATH, bus_name=NAME, interface=INTERFACE)
        self._bus.send(new_signal(manager, "PrepareForSleep", "b", (goes_to_sleep,)))

    def may_sleep(self, number: int) -> bool:
        """Whether the holder of this inhibitor has let go."""
        os.set_blocking(self.ends[number], False)
        try:
            return os.read(self.ends[number], 1) == b""
        except BlockingIOError:
            return False


def test_the_machine_sleeps_once_the_rig_is_stopped_each_time(system_bus: str) -> None:
    logind, stopping, stopped = Logind(), threading.Event(), threading.Event()
    stops: list[Any] = []

    def on_sleep() -> None:
        stops.append(1)
        stopping.set()
        assert stopped.wait(20)

    SleepGuard(on_sleep)
    assert logind.asked == [("sleep", "pathrig", "a rig is driven, and is stopped first", "delay")]
    for number in (0, 1):
        logind.say(True)
        assert stopping.wait(20) and not logind.may_sleep(number), "not before the stop is done"
        stopped.set()
        assert wait_until(lambda n=number: logind.may_sleep(n))
        assert len(stops) == number + 1
        stopping.clear()
        stopped.clear()
        logind.say(False)
        assert wait_until(lambda n=number: len(logind.asked) == n + 2), "it inhibits the next one too"


def test_the_rig_process_stops_its_rig_and_tells_its_host(system_bus: str) -> None:
    from firmware_bridge.rig_process.protocol import Kind

    logind, link = Logind(), ScriptedLink()
    served = Served(link)
    assert served.features["stops_before_sleep"] is True
    logind.say(True)
    served.next(Kind.STRUCK)
    assert wait_until(lambda: link.stops == 1) and wait_until(lambda: logind.may_sleep(0))
    served.host.close()
    served.ended()


def test_without_a_logind_there_is_no_guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path / 'none'}")
    with pytest.raises(OSError, match="no logind"):
        SleepGuard(lambda: None)
    served = Served(ScriptedLink())
    assert served.features["stops_before_sleep"] is False
    served.host.close()
    served.ended()
