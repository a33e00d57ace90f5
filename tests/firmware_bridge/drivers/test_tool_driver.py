"""The base class of drivers in Python, by the example of its page, over a pseudo terminal."""

from __future__ import annotations

import os
import re
import threading
import tty
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from configs.device_types import load_device
from core_eval.call_status import CallStatus
from devices.drivers.settings import Settings
from devices.drivers.tool_driver import method_faults
from devices.outcome import StopOutcome
from firmware_bridge.drivers.python_link import PythonDriverDevice

pytestmark = [pytest.mark.serial, pytest.mark.stops]

PAGE = Path(__file__).parents[3] / "docs" / "drivers.md"
DEVICE = """
name: trolley
description: A trolley.
tools:
  drive: {description: Drive., effect: motion, arguments: {mm: {unit: mm}}, result: {at: {unit: mm}}}
"""


class Played(threading.Thread):
    """The trolley at the other end: it echoes, and says by itself that a drive is done, or that it starts."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        self.url = f"serial://{os.ttyname(self.slave)}"
        self.state, self.sent, self.asked, self.then = "IDLE", list[str](), 0, "DONE"
        self.start()

    def run(self) -> None:
        waiting = b""
        while data := os.read(self.master, 256):
            *lines, waiting = (waiting + data).split(b"\r")
            for line in map(bytes.decode, lines):
                self.say(line, *self.answers(line))

    def say(self, *lines: str) -> None:
        os.write(self.master, "".join(f"{line}\r\n" for line in lines).encode())

    def answers(self, line: str) -> Iterator[str]:
        if line == "STATE":
            self.asked += 1
            if self.state == "MOVES" and self.asked > 2:
                self.state = "IDLE"
                yield self.then
            yield f"STATE={self.state}"
            return
        self.sent.append(line)
        self.asked = 0
        self.state = {"HALT": "HALTED", "CLEAR": "IDLE"}.get(line, "MOVES")
        yield "OK"


@pytest.fixture
def trolley(tmp_path: Path) -> Iterator[tuple[Played, Any, PythonDriverDevice]]:
    block = re.search(r"```python trolley\.py\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert block is not None
    names: dict[str, Any] = {"__name__": "trolley"}
    exec(block[1], names)
    (tmp_path / "device.yaml").write_text(DEVICE)
    played = Played()
    driver = names["Trolley"](played.url, Settings({}, {}))
    yield played, driver, PythonDriverDevice(driver, load_device(str(tmp_path / "device.yaml")))
    driver.close()


def drive(device: PythonDriverDevice) -> tuple[CallStatus, str | None]:
    outcome = device.execute("drive", {"mm": 5.0}, threading.Event())
    return outcome.status, outcome.code


def test_a_stop_that_the_machine_keeps_is_released_at_the_reset(trolley: Any) -> None:
    played, _, device = trolley
    assert device.safe() is StopOutcome.CONFIRMED
    device.reset()
    assert drive(device) == (CallStatus.OK, None)
    assert played.sent == ["HALT", "CLEAR", "GO 5"]


def test_a_restart_is_a_fault_of_the_call_and_the_next_one_sets_the_machine_up(trolley: Any) -> None:
    played, driver, device = trolley
    device.reset()
    played.then = "READY"
    assert drive(device) == (CallStatus.FAULT, "device_reset")
    played.then = "DONE"
    assert drive(device) == (CallStatus.OK, None)
    assert played.sent == ["CLEAR", "GO 5", "HALT", "CLEAR", "GO 5"]
    played.say("READY")
    driver.standing()
    assert drive(device) == (CallStatus.FAULT, "device_reset"), "a restart between two calls"
    assert played.sent[5:] == ["HALT"], "and nothing that moves was sent"


def test_a_restart_before_an_episode_disturbs_none_of_its_calls(trolley: Any) -> None:
    played, driver, device = trolley
    played.say("READY")
    driver.standing()
    device.reset()
    assert drive(device) == (CallStatus.OK, None)


def test_a_timeout_tells_what_came_instead(trolley: Any) -> None:
    _, driver, _ = trolley
    with pytest.raises(TimeoutError, match=r"no answer to 'STATE', but 'STATE', 'STATE=IDLE'$"):
        driver._port.ask("STATE", "^STATUS", 0.2)


def test_a_result_that_does_not_fit_is_a_fault(trolley: Any) -> None:
    _, driver, device = trolley
    for wrong, says in [
        ({"at": "far"}, "at: Input should be a valid number"),
        ({"to": 5}, "to: Extra inputs"),
    ]:
        driver.drive = lambda mm, wrong=wrong: wrong
        outcome = device.execute("drive", {"mm": 5.0}, threading.Event())
        assert (outcome.code, outcome.value) == ("bad_result", None) and says in outcome.message


def test_a_class_must_have_the_methods_of_its_tools(trolley: Any) -> None:
    _, driver, device = trolley
    (drive_,) = device._device_type.tools
    assert list(method_faults(type(driver), [drive_])) == []
    lacking: Any = SimpleNamespace(name="stop", arguments=drive_.arguments)
    wrong: Any = SimpleNamespace(name="drive", arguments=SimpleNamespace(model_fields={"to": None}))
    assert list(method_faults(type(driver), [lacking, wrong])) == [
        "Trolley has no method 'stop_': write it, or list under `tools` what it has",
        "Trolley.drive: missing a required argument: 'mm'; the arguments of the tool are to",
    ]
