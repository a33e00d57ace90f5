"""A small physical-style device for tests, on a pty of this process: it can take its time and be watched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from devices.outcome import Outcome, StopOutcome
from devices.sensors import Emit, Truth
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.serial.port import SerialPort


class BenchRover:
    """Answers every farm-rover call with ok; `slow` tools run until they are stopped."""

    name = "farm_rover"
    firmware = "bench 1"

    def __init__(self, *slow: str) -> None:
        self.slow = slow
        self.calls: list[str] = []
        self.running = Event()
        self.made_safe = Event()

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: Event) -> Outcome:
        self.calls.append(tool)
        self.made_safe.clear()
        if tool in self.slow:
            self.running.set()
            stop.wait(30.0)
            return Outcome("fault", code="stopped", message="stopped", t=1.0, duration=1.0)
        return Outcome("ok", {}, t=1.0, duration=1.0)

    def safe(self) -> StopOutcome:
        self.made_safe.set()
        return StopOutcome.CONFIRMED

    def reset(self) -> None:
        return

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        return Outcome("invalid", code="physical", message="a physical rover takes no initial state")

    def subscribe(self, emit: Emit) -> None:
        return

    def truth(self) -> Truth | None:
        return None


@contextmanager
def on_a_pty(device: BenchRover) -> Iterator[str]:
    """The device's URL while it is served."""
    port = SerialPort("pty")
    with DeviceEndpoint(device, port, watchdog_ms=60_000):
        yield f"serial://{port.path}"


class Board:
    """A board at a name that stays, as /dev/serial/by-id gives one, over ports that come and go."""

    def __init__(self, name: Path) -> None:
        self.name = name
        self.rover = BenchRover()

    def plug(self) -> None:
        port = SerialPort("pty")
        self.endpoint = DeviceEndpoint(self.rover, port, watchdog_ms=60_000)
        self.endpoint.start()
        self.name.symlink_to(port.path)

    def pull(self) -> None:
        self.name.unlink()
        self.endpoint.close()
