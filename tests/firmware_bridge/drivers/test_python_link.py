"""The stop of a driver in Python: the kit asks whether the hardware stands, and for how long."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from given_clock import PlannedClock

from devices.outcome import StopOutcome
from firmware_bridge.drivers.python_link import PythonDriverDevice
from firmware_bridge.link import LinkError
from firmware_bridge.serial.open import port_comes_back

pytestmark = pytest.mark.stops


class Coasting:
    """Hardware that comes to rest `seconds` after its stop; None: it cannot tell."""

    firmware = "coasting 1"

    def __init__(self, clock: PlannedClock, seconds: float | None) -> None:
        self.clock, self.seconds = clock, seconds
        self.asked: list[float] = []
        self.broken = False

    def stop(self) -> None:
        if self.broken:
            raise OSError("the adapter is out")

    def standing(self) -> bool | None:
        self.asked.append(self.clock.passed)
        if self.broken:
            raise OSError("the adapter is out")
        return None if self.seconds is None else self.clock.passed >= self.seconds


def stopping(seconds: float | None) -> tuple[Coasting, PythonDriverDevice]:
    clock = PlannedClock()
    hardware: Any = Coasting(clock, seconds)
    kind: Any = SimpleNamespace(name="pump", rules=None)
    return hardware, PythonDriverDevice(hardware, kind, "pump", clock)


@pytest.mark.parametrize(
    ("seconds", "outcome", "taken"),
    [
        (0.0, StopOutcome.CONFIRMED, 0.0),
        (2.9, StopOutcome.CONFIRMED, 2.9),
        (3.1, StopOutcome.SENT, 3.0),
        (None, StopOutcome.SENT, 0.0),
    ],
)
def test_it_is_asked_for_three_seconds_whether_it_stands(
    seconds: float | None, outcome: StopOutcome, taken: float
) -> None:
    hardware, device = stopping(seconds)
    assert device.confirms_stop is (seconds is not None)
    assert device.safe() is outcome
    assert hardware.clock.passed == pytest.approx(taken, abs=0.051)
    gaps = [later - earlier for earlier, later in zip(hardware.asked[1:], hardware.asked[2:], strict=False)]
    assert gaps == pytest.approx([0.05] * len(gaps))


def test_a_question_that_fails_confirms_nothing_and_a_stop_that_fails_is_not_sent() -> None:
    hardware, device = stopping(0.0)
    hardware.standing = lambda: 1 / 0  # type: ignore[method-assign, assignment, return-value]
    assert device.safe() is StopOutcome.SENT and hardware.clock.passed == pytest.approx(3.0, abs=0.051)
    hardware.broken = True
    assert device.safe() is StopOutcome.NOT_SENT


@pytest.mark.parametrize(
    ("url", "back"),
    [
        ("serial:///dev/pts/7?baud=115200", False),
        ("serial:///dev/ttyACM0", True),
        ("modbus://127.0.0.1:502", True),
    ],
)
def test_a_lost_pseudo_terminal_is_not_opened_again_as_its_number_may_be_another_ones(
    url: str, back: bool
) -> None:
    hardware: Any = Coasting(PlannedClock(), 0.0)
    opened: list[str] = []

    def connect() -> None:
        opened.append(url)
        hardware.broken = False

    hardware.connect, hardware.close = connect, lambda: None
    kind: Any = SimpleNamespace(name="pump", rules=None)
    device = PythonDriverDevice(hardware, kind, "pump", hardware.clock, comes_back=port_comes_back(url))
    hardware.broken = True
    assert device.safe() is StopOutcome.NOT_SENT and not device.connected
    assert device.stop_owed is back
    if back:
        device.reconnect()
        assert opened == [url] and device.connected and not device.stop_owed
    else:
        with pytest.raises(LinkError, match="does not come back"):
            device.reconnect()
        assert opened == []
