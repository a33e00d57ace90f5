"""A raw serial line on pyserial."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
from collections.abc import Callable
from typing import Any

from devices.drivers.patterns import MachineMessage
from firmware_bridge.drivers.wire import OnMessage
from firmware_bridge.link import LinkError
from firmware_bridge.serial.address import SerialAddress
from firmware_bridge.serial.open import GONE, close_serial, comes_back, open_serial

log = logging.getLogger(__name__)

LONGEST_LINE = 4096


class SerialLine:
    """A port that this program has locked.

    Args:
        address: the port; one selected by its adapter is searched for at each opening.
    """

    def __init__(self, address: SerialAddress) -> None:
        self.name = address.target or str(address.selector)
        self._address = address
        self.comes_back = comes_back(address)
        self._port: Any = None
        self._reader: threading.Thread | None = None
        self._writing = threading.Lock()

    @property
    def connected(self) -> bool:
        """Whether the port is open."""
        return self._port is not None

    def open(self, on_message: OnMessage, on_lost: Callable[[], None]) -> None:
        """Open the port. Raises LinkError."""
        if self._reader is not None:
            # Its end must not be reported as a loss of the new port.
            self._reader.join(2.0)
        port = open_serial(self._address, 0.5)
        self._port = port
        self._reader = threading.Thread(
            target=self._read, args=(port, on_message, on_lost), name=f"read {self.name}", daemon=True
        )
        self._reader.start()

    def write(self, data: bytes) -> None:
        """Write bytes. Raises LinkError."""
        with self._writing:
            self._write(data)

    def write_at_once(self, data: bytes) -> None:
        """Write bytes ahead of another thread's output. Raises LinkError."""
        port = self._port
        mine = self._writing.acquire(timeout=0.1)
        try:
            if port is not None and not mine:
                with contextlib.suppress(*GONE):
                    port.reset_output_buffer()
            self._write(data)
        finally:
            if mine:
                self._writing.release()

    def publish(self, topic: str, payload: str, *, retain: bool = False) -> None:
        """Raise LinkError: a serial line has no topics."""
        raise LinkError(f"{self.name} is a serial line, and has no topic {topic}")

    def taken(self) -> bool:
        """Return True: a serial line acknowledges nothing; the machine's answers do."""
        return True

    def close(self) -> None:
        """Flush and close the port."""
        port, self._port = self._port, None
        if port is not None:
            with contextlib.suppress(*GONE):
                port.flush()
            with contextlib.suppress(*GONE):
                port.cancel_read()
        close_serial(port)

    def _write(self, data: bytes) -> None:
        port = self._port
        if port is None:
            raise LinkError(f"{self.name} is not open; is the cable in?")
        try:
            port.write(data)
        except GONE as error:
            self._port = None
            close_serial(port)
            raise LinkError(f"cannot write to {self.name}: {error}") from None

    def _read(self, port: Any, on_message: OnMessage, on_lost: Callable[[], None]) -> None:
        waiting = b""
        while self._port is port:
            try:
                data = port.read(port.in_waiting or 1)
            except GONE:
                break
            *lines, waiting = re.split(rb"[\r\n]+", waiting + data)
            waiting = waiting[-LONGEST_LINE:]
            for line in lines:
                text = line.decode("ascii", errors="replace").strip()
                if text:
                    try:
                        on_message(MachineMessage("", text))
                    except Exception:
                        log.exception("a line from %s could not be taken", self.name)
        if self._port is port:
            self._port = None
            close_serial(port)
        on_lost()
