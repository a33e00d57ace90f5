"""A rover at the far end of a serial line whose every byte is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bench_rig import BenchRover

from devices.device import Device
from devices.outcome import Outcome
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.serial.port import SerialPort
from sims.farm_rover.simulator import FarmSimulator


class TappedPort(SerialPort):
    """A port that keeps every byte that came over the line."""

    def __init__(self) -> None:
        super().__init__("pty")
        self.came = bytearray()

    def _take(self, data: bytes) -> None:
        self.came += data
        super()._take(data)


class FieldRover(FarmSimulator):
    """A rover that takes no initial state and tells no truth, as silicon does."""

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        return Outcome("invalid", code="physical", message="a physical rover takes no initial state")

    def truth(self) -> None:  # type: ignore[override]
        return None


@contextmanager
def tapped(device: Device | None = None) -> Iterator[TappedPort]:
    port = TappedPort()
    with DeviceEndpoint(device or BenchRover(), port, watchdog_ms=60_000):
        yield port


def tools_on(port: TappedPort) -> list[str]:
    return [line.split(b'"tool":"')[1].split(b'"')[0].decode() for line in bytes(port.came).split(b"\n")
            if b'"tool":"' in line]  # fmt: skip
