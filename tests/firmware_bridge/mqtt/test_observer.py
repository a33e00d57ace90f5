"""An observer at a mosquitto with accounts: what each account lets it hear."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from bridge_rig import ScriptedDevice, wait_until
from own_broker import made

from firmware_bridge.client import RigClient
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.link import LinkError
from firmware_bridge.links import open_link
from firmware_bridge.mqtt.link import MqttPort
from firmware_bridge.mqtt.observer import Heard, MqttObserver

pytestmark = pytest.mark.broker


def test_the_observers_account_hears_the_calls_and_the_hosts_does_not(tmp_path: Path) -> None:
    files, broker = made(tmp_path / "broker")
    assert files.observer is not None
    device, host = files.devices[0], files.hosts[0]
    heard: dict[str, list[str]] = {"observer": [], "host": []}
    leases: list[str | None] = []

    def ears(name: str) -> Heard:
        return Heard(
            host=lambda message: heard[name].append(message.op),
            device=lambda message, _: heard[name].append(message.op),
            lease=lambda lease: leases.append(None if lease is None else lease.holder),
            link=lambda _: None,
        )

    with broker, ExitStack() as stack:
        stack.enter_context(DeviceEndpoint(ScriptedDevice(), MqttPort(device.url)))
        url = files.observer.url.replace("/?", f"/{device.user}?")
        for name, address in (("observer", url), ("host", host.url)):
            stack.callback(MqttObserver(address, ears(name)).close)
        with RigClient(open_link(host.url)) as client:
            client.open()
            client.reset()
            assert client.call("echo", {"x": 1}).status == "ok"
            client.estop()
        assert wait_until(lambda: heard["observer"].count("status") > 1 and leases[-1:] == [None])
        assert {"call", "estop", "result", "sample", "status"} <= set(heard["observer"])
        assert not {"call", "estop"} & set(heard["host"]) and "result" in heard["host"]
        # The truth is for scoring: nobody hears it.
        assert "truth" not in heard["observer"] + heard["host"]
        with pytest.raises(LinkError, match="names no rig"):
            MqttObserver(files.observer.url, ears("observer"))
