"""The host's end of a serial line, on pyserial."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from typing import Any

from devices.outcome import StopOutcome
from firmware_bridge.lines import DEFAULT_MAX_FRAME, HOST_MAX_FRAME, RESET, STOP_BYTE, LineDecoder, to_line
from firmware_bridge.link import Link, LinkError, OnFrame
from firmware_bridge.serial.address import parse_serial_url
from firmware_bridge.serial.open import GONE, close_serial, comes_back, open_serial

log = logging.getLogger(__name__)

READ_SECONDS = 0.2
"""Time between two checks of a networked port's reader whether the port was closed, s."""


class SerialLink(Link):
    """A serial URL of any form (`serial_address`). Opens the port in the constructor.

    A local port is locked by this process; a networked one by its server.

    Args:
        url: the serial URL.
        stop_first: write the stop before all else.

    Raises:
        LinkError: bad URL, no such port, no permission, or another program has it open.
    """

    default_max_frame = DEFAULT_MAX_FRAME
    frame_overhead = 10
    """`*`, eight digits, newline."""

    def __init__(self, url: str, *, stop_first: bool = False) -> None:
        self.name = url
        self._address = parse_serial_url(url)
        self._path = self._address.target or str(self._address.selector)
        self.boot_seconds = self._address.boot
        """Time that a board may take to boot after its port was opened."""
        self._lock = threading.RLock()
        self._write_lock = threading.Lock()
        self._on_frame: OnFrame | None = None
        self._on_state: Callable[[bool], None] | None = None
        self._reader: threading.Thread | None = None
        self._stop_waits = False
        self._port: Any = self._open_port()
        if stop_first:
            self.estop()

    @property
    def connected(self) -> bool:
        """Whether the port is open."""
        return self._port is not None

    @property
    def stop_owed(self) -> bool:
        """Whether a stop could not be written, and can be once the port is back."""
        return self._stop_waits and self._port is None and comes_back(self._address)

    def attach(self, on_frame: OnFrame, on_state: Callable[[bool], None]) -> None:
        """Start the reader thread."""
        with self._lock:
            self._on_frame, self._on_state = on_frame, on_state
            if self._port is not None:
                self._start_reader(self._port)

    def ensure(self, timeout: float) -> None:
        """Try once to open a lost port; send a pending stop first. Raises LinkError."""
        with self._lock:
            if self._port is not None:
                return
            if not comes_back(self._address):
                # Its name is reused for the next pseudo terminal.
                raise LinkError(f"the program at the other end of {self._path} has ended")
            port = self._open_port()
            if self._stop_waits:
                with contextlib.suppress(*GONE):
                    port.write(STOP_BYTE)
            self._port = port
            if self._on_frame is not None:
                self._start_reader(self._port)
        if self._on_state is not None:
            self._on_state(True)

    def send(self, payload: bytes) -> None:
        """Write one line. Raises LinkError if the port is lost."""
        port = self._port
        if port is None:
            raise LinkError(f"{self._path} is not open; is the cable in?")
        if payload == RESET:
            self._stop_waits = False
        try:
            with self._write_lock:
                port.write(to_line(payload))
        except GONE as error:
            self._lost(port)
            raise LinkError(f"cannot write to {self._path}: {error}") from None

    def estop(self) -> StopOutcome | None:
        """Write the stop byte ahead of all buffered bytes, even within a line. Raises LinkError."""
        port = self._port
        self._stop_waits = True
        if port is None:
            raise LinkError(f"{self._path} is not open; is the cable in?")
        try:
            port.reset_output_buffer()
            port.write(STOP_BYTE)
            self._stop_waits = False
        except GONE as error:
            self._lost(port)
            raise LinkError(f"cannot write to {self._path}: {error}") from None
        return None

    def discard(self) -> None:
        """Discard the port's output buffer."""
        port = self._port
        if port is not None:
            with contextlib.suppress(*GONE):
                port.reset_output_buffer()

    def close(self) -> None:
        """Close the port."""
        with self._lock:
            port, self._port = self._port, None
            self._on_state = None
        if port is not None:
            self._end_reader(port)
        close_serial(port)

    def _end_reader(self, port: Any) -> None:
        # A closed port stays locked while a thread waits on it.
        with contextlib.suppress(*GONE):
            port.cancel_read()
        reader = self._reader
        if reader is not None and reader is not threading.current_thread():
            reader.join(1.0)

    def _open_port(self) -> Any:
        return open_serial(self._address, READ_SECONDS if self._address.networked else None)

    def _start_reader(self, port: Any) -> None:
        self._reader = threading.Thread(
            target=self._read, args=(port,), name=f"read {self._path}", daemon=True
        )
        self._reader.start()

    def _read(self, port: Any) -> None:
        decoder, dropped = LineDecoder(HOST_MAX_FRAME), self.dropped
        while self._port is port:
            try:
                data = port.read(port.in_waiting or 1)
            except GONE:
                self._lost(port)
                return
            payloads = decoder.feed(data)
            self.dropped = dropped + decoder.dropped
            for payload in payloads:
                try:
                    if self._on_frame is not None:
                        self._on_frame(payload, False)
                except Exception:
                    log.exception("a callback of the serial link failed")

    def _lost(self, port: Any) -> None:
        with self._lock:
            if self._port is not port:
                return
            self._port = None
            on_state = self._on_state
        self._end_reader(port)
        close_serial(port)
        if on_state is not None:
            on_state(False)
