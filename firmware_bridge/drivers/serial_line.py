"""A raw serial line, on pyserial: commands out, lines in, and a second process that outlives this one."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
from collections.abc import Callable
from typing import Any

import serial

from devices.drivers.patterns import Message
from firmware_bridge.drivers.stop_keeper import StopKeeper
from firmware_bridge.drivers.wire import OnMessage
from firmware_bridge.link import LinkError
from firmware_bridge.serial_address import SerialAddress
from firmware_bridge.serial_link import why_closed

log = logging.getLogger(__name__)

LONGEST_LINE = 4096
LOST = (serial.SerialException, OSError, TypeError, ValueError, AttributeError)
"""What pyserial raises when the port is gone; the last three after another thread closed it."""


class SerialLine:
    """A port, open for this program alone.

    Args:
        address: where it is; one that is told by its adapter's number is looked for at each opening.
        stop: what a second process writes to the port when this one dies without closing it.
    """

    def __init__(self, address: SerialAddress, stop: bytes) -> None:
        self.name = address.target or str(address.selector)
        self._address = address
        self._stop = stop
        self._port: Any = None
        self._keeper: StopKeeper | None = None
        self._reader: threading.Thread | None = None
        self._writing = threading.Lock()

    @property
    def connected(self) -> bool:
        """Whether the port is open."""
        return self._port is not None

    def open(self, on_message: OnMessage, on_lost: Callable[[], None]) -> None:
        """Open the port. Raises LinkError."""
        if self._reader is not None:
            # So that it does not report its own end as a loss of the new port.
            self._reader.join(2.0)
        target = self._address.resolve()
        options: dict[str, Any] = {"baudrate": self._address.baud, "timeout": 0.5, "do_not_open": True}
        if not self._address.networked:
            options |= {"exclusive": True, "write_timeout": 2.0}
        try:
            port: Any = serial.serial_for_url(target, **options)
            if not self._address.dtr:
                port.dtr = False
            port.open()
        except (serial.SerialException, OSError, ValueError) as error:
            raise LinkError(why_closed(target, error)) from None
        self._port = port
        # Behind a network the port is a socket, and the stop's bytes need no escape in RFC 2217.
        held = getattr(port, "_socket", None) if self._address.networked else port
        if held is not None:
            self._keeper = StopKeeper(held.fileno(), self._stop)
        self._reader = threading.Thread(
            target=self._read, args=(port, on_message, on_lost), name=f"read {self.name}", daemon=True
        )
        self._reader.start()

    def write(self, data: bytes) -> None:
        """Write these bytes. Raises LinkError."""
        with self._writing:
            self._write(data)

    def write_at_once(self, data: bytes) -> None:
        """Write these bytes, whatever another thread is writing. Raises LinkError."""
        port = self._port
        mine = self._writing.acquire(timeout=0.1)
        try:
            if port is not None and not mine:
                with contextlib.suppress(*LOST):
                    port.reset_output_buffer()
            self._write(data)
        finally:
            if mine:
                self._writing.release()

    def publish(self, topic: str, payload: str, *, retain: bool = False) -> None:
        """A serial line has no topics."""
        raise LinkError(f"{self.name} is a serial line, and has no topic {topic}")

    def close(self) -> None:
        """Let what was written go out, and close the port."""
        port, self._port = self._port, None
        if port is not None:
            with contextlib.suppress(*LOST):
                port.flush()
            with contextlib.suppress(*LOST):
                port.cancel_read()
        self._shut(port)

    def _write(self, data: bytes) -> None:
        port = self._port
        if port is None:
            raise LinkError(f"{self.name} is not open; is the cable in?")
        try:
            port.write(data)
        except LOST as error:
            self._port = None
            self._shut(port)
            raise LinkError(f"cannot write to {self.name}: {error}") from None

    def _shut(self, port: Any | None) -> None:
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.end()
        if port is not None:
            with contextlib.suppress(*LOST):
                port.close()

    def _read(self, port: Any, on_message: OnMessage, on_lost: Callable[[], None]) -> None:
        waiting = b""
        while self._port is port:
            try:
                data = port.read(port.in_waiting or 1)
            except LOST:
                break
            *lines, waiting = re.split(rb"[\r\n]+", waiting + data)
            waiting = waiting[-LONGEST_LINE:]
            for line in lines:
                text = line.decode("ascii", errors="replace").strip()
                if text:
                    try:
                        on_message(Message("", text))
                    except Exception:
                        log.exception("a line from %s could not be taken", self.name)
        if self._port is port:
            self._port = None
            self._shut(port)
        on_lost()
