"""The stop input of a device in Python: latched, told in its status, and left only by a reset of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from bridge_rig import RecordingPort, ScriptedDevice

from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.stop_input import StopInput


class Rig:
    def __init__(self, button: StopInput) -> None:
        self.button, self.device, self.port = button, ScriptedDevice(True), RecordingPort()
        self.endpoint = DeviceEndpoint(self.device, self.port, stop_input=button)
        self.endpoint.start()

    def give(self, op: str, **more: Any) -> tuple[str, str]:
        self.port.give({"v": 1, "op": op, **more})
        return self.told

    @property
    def told(self) -> tuple[str, str]:
        status = self.port.of("status")[-1]
        return status["state"], status["stop_input"]

    def call(self, call_id: str, tool: str = "echo") -> None:
        self.give("call", id=call_id, tool=tool, args={"a": 1})


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig(StopInput())
    yield rig
    rig.device.go.set()
    rig.endpoint.close()


def test_a_press_stops_a_call_and_holds_until_it_is_released_and_reset(rig: Rig) -> None:
    assert rig.give("hello") == ("online", "released")
    rig.call("long", "slow")
    assert rig.device.started.wait(25)
    rig.button.press()
    assert rig.device.made_safe.is_set()
    assert rig.told == ("estop", "pressed")
    assert rig.port.result("long")["error"]["code"] == "stopped"
    assert rig.give("reset") == ("estop", "pressed")
    assert rig.give("reset", stop_input=True) == ("estop", "pressed")
    rig.call("more")
    refused = rig.port.result("more")
    assert (refused["status"], refused["error"]["code"]) == ("rejected", "estop")
    assert "the stop input was pressed" in refused["error"]["message"]
    rig.button.release()
    assert rig.told == ("estop", "latched")
    assert rig.give("reset") == ("estop", "latched")
    assert rig.give("reset", stop_input=True) == ("online", "released")
    rig.call("after")
    assert rig.port.result("after")["status"] == "ok"


def test_a_reset_that_waits_for_a_call_to_end_does_not_undo_a_press(rig: Rig) -> None:
    original = rig.device.execute

    def deaf(tool: str, arguments: Any, stop: Any) -> Any:
        rig.device.started.set()
        rig.device.go.wait(10)
        return original(tool, arguments, stop)

    rig.device.execute = deaf  # type: ignore[method-assign]
    rig.call("deaf")
    assert rig.device.started.wait(25)
    rig.give("estop")
    rig.give("reset")
    rig.button.press()
    rig.device.go.set()
    assert rig.port.result("deaf")["status"] == "ok"
    assert rig.give("hello") == ("estop", "pressed")
    assert rig.device.resets == 0


def test_a_device_that_starts_with_its_input_pressed_is_stopped() -> None:
    button = StopInput()
    button.press()
    rig = Rig(button)
    try:
        assert rig.give("hello") == ("estop", "pressed")
        assert rig.device.made_safe.is_set()
    finally:
        rig.endpoint.close()
