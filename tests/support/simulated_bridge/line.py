"""A serial line: the host's port as pyserial has it, and the device's UART."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import serial
from greenlet import GreenletExit

from firmware_bridge.lines import STOP_BYTE
from simulated_bridge.scheduler import Process
from simulated_bridge.system import WORLD, File, Module, Waiters, process

BYTE_SECONDS = 10 / 115200


class Line:
    """The wire between a host's port and a board.

    Attributes:
        cut: the host's adapter is out.
        noise: probability that a byte arrives as another one.
        loss: probability that a piece of output is lost.
        slow: seconds from one look of the device at its input to the next, once some has come.
        on_word: called when a stop (True) or a reset arrives at the device.
        on_open: called when the host opens its port; many boards reset then.
    """

    def __init__(self) -> None:
        self.cut = False
        self.noise = self.loss = self.slow = 0.0
        self.port: Port | None = None
        self.uart: Uart | None = None
        self.holder: Process | None = None
        self.random = WORLD[0].stream("line")
        self.on_word: Callable[[bool], None] = lambda stop: None
        self.on_open = lambda: None

    def sever(self) -> None:
        """Take the cable out."""
        self.cut = True
        if self.port is not None:
            self.port.lose()

    def mend(self) -> None:
        """Put it in again."""
        self.cut = False

    def disturbed(self, data: bytes) -> bytes:
        """Return what arrives of some bytes."""
        if self.loss and self.random.random() < self.loss:
            return b""
        if not self.noise:
            return data
        return bytes(
            self.random.randrange(256) if self.random.random() < self.noise else byte for byte in data
        )


LINE: list[Line] = []


class _Way:
    """The bytes of one direction that have not left yet."""

    def __init__(self) -> None:
        self.free_at = 0.0
        self.epoch = 0
        self._last: tuple[float, bytes, Any] = (0.0, b"", None)

    def send(self, data: bytes, arrive: Any) -> None:
        here = WORLD[0]
        begun = max(here.now, self.free_at)
        self.free_at = begun + len(data) * BYTE_SECONDS
        epoch, self._last = self.epoch, (begun, data, arrive)
        here.at(self.free_at, lambda: arrive(data) if epoch == self.epoch else None)

    def drop(self) -> None:
        now = WORLD[0].now
        begun, data, arrive = self._last
        if begun <= now < self.free_at:
            # What has left arrives, and may be half a line.
            arrive(data[: int((now - begun) / BYTE_SECONDS)])
        self.epoch += 1
        self.free_at = now


class Port(File):
    """The host's end, with what the bridge uses of pyserial's class."""

    def __init__(self, *_: Any, timeout: float | None = None, **__: Any) -> None:
        super().__init__()
        self._line, self._timeout = LINE[0], timeout
        self._inbox = bytearray()
        self._way = _Way()
        self._gone = self._cancelled = self._open = False
        self._waiters = Waiters()
        self.dtr = True

    def open(self) -> None:
        if self._line.cut:
            raise serial.SerialException("No such file or directory")
        holder = self._line.holder
        if holder is not None and not holder.dead and self._line.port is not None:
            raise serial.SerialException("Could not exclusively lock port")
        self._line.holder, self._line.port = process(), self
        self._open = True
        self._line.on_open()

    @property
    def in_waiting(self) -> int:
        self._check()
        return len(self._inbox)

    def read(self, size: int) -> bytes:
        self._check()
        self._cancelled = False
        self._waiters.wait_for(
            lambda: self._inbox or self._gone or self._cancelled or not self._open, self._timeout
        )
        if self._cancelled:
            return b""
        self._check()
        data = bytes(self._inbox[:size])
        del self._inbox[:size]
        return data

    def write(self, data: bytes) -> int:
        WORLD[0].overtake()
        self._check()
        self._way.send(bytes(data), self._arrive)
        return len(data)

    def flush(self) -> None:
        self._check()

    def reset_output_buffer(self) -> None:
        self._check()
        self._way.drop()

    def reset_input_buffer(self) -> None:
        self._inbox.clear()

    def cancel_read(self) -> None:
        self._cancelled = True
        self._waiters.wake()

    def close(self) -> None:
        self._open = False
        self._waiters.wake()
        if self._line.port is self:
            self._line.port = None
        super().close()

    def on_closed(self) -> None:
        self._open = False
        if self._line.port is self:
            self._line.port = None

    def take(self, data: bytes) -> None:
        """Bytes of the device have arrived."""
        self._inbox += data
        self._waiters.wake()

    def lose(self) -> None:
        """The adapter is out."""
        self._gone = True
        self._way.drop()
        self._waiters.wake()

    def _check(self) -> None:
        if WORLD[0].over:
            raise GreenletExit
        if self._gone:
            raise serial.SerialException("device reports readiness to read but returned no data")
        if not self._open:
            raise serial.PortNotOpenError()

    def _arrive(self, data: bytes) -> None:
        uart = self._line.uart
        if uart is not None and not self._line.cut:
            uart.take(self._line.disturbed(data))


class Uart(File):
    """The device's end."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()
        self._line = LINE[0]
        self._line.uart = self
        self.inbox = bytearray()
        self._looks_at = 0.0
        self._way = _Way()

    def readable(self) -> bool:
        return bool(self.inbox) and WORLD[0].now >= self._looks_at

    def take(self, data: bytes) -> None:
        if not self.closed:
            here = WORLD[0]
            if not self.inbox:
                self._looks_at = here.now + self._line.slow
            if STOP_BYTE in data or b'"reset"' in data:
                self._line.on_word(data.rfind(STOP_BYTE) > data.rfind(b'"reset"'))
            self.inbox += data
            here.at(self._looks_at, self.watchers.wake)

    def write(self, data: bytes) -> int:
        WORLD[0].overtake()
        self._way.send(data, self._arrive)
        return len(data)

    def on_closed(self) -> None:
        if self._line.uart is self:
            self._line.uart = None

    def _arrive(self, data: bytes) -> None:
        port = self._line.port
        if port is not None and not self._line.cut:
            port.take(self._line.disturbed(data))


def port_holder(_target: str) -> int | None:
    """Return the process that has the port open."""
    holder = LINE[0].holder
    return None if holder is None or holder.dead or LINE[0].port is None else holder.pid


def process_name(number: int) -> str:
    """Return the name by which a process is seen."""
    return next(one.name for one in WORLD[0].processes if one.pid == number)


SERIAL = Module(serial, serial_for_url=Port, Serial=Uart)
