"""The host's end of a serial line, on pyserial."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from typing import Any

import serial

from firmware_bridge.codec import DEFAULT_MAX_FRAME, HOST_MAX_FRAME, STOP_BYTE, LineDecoder, to_line
from firmware_bridge.link import LinkError, OnFrame
from firmware_bridge.serial_address import parse_serial_url
from firmware_bridge.serial_ports import port_holder

log = logging.getLogger(__name__)

READ_SECONDS = 0.2
"""How long a reader of a networked port waits before it looks whether the port was closed."""
PSEUDO_TERMINALS = "/dev/pts/"
GONE = (serial.SerialException, OSError, TypeError, AttributeError)
"""What pyserial raises for a port that is gone: TypeError where another thread closed it meanwhile, and
AttributeError where a networked one lacks the method."""


class SerialLink:
    """A serial URL of any form (`serial_address`). Opens the port in the constructor.

    A port of this machine is opened for this process alone; whoever serves a networked one sees to that.

    Raises:
        LinkError: bad URL, no such port, no permission, or somebody else has it open.
    """

    default_max_frame: int | None = DEFAULT_MAX_FRAME
    frame_overhead = 10
    """`*`, eight digits, newline."""

    def __init__(self, url: str) -> None:
        self.name = url
        self._address = parse_serial_url(url)
        self._path = self._address.target or str(self._address.selector)
        self.boot_seconds = self._address.boot
        """How long a board may take to answer again after its port was opened."""
        self._lock = threading.RLock()
        self._write_lock = threading.Lock()
        self._on_frame: OnFrame | None = None
        self._on_state: Callable[[bool], None] | None = None
        self._reader: threading.Thread | None = None
        self._dropped = 0
        self._decoder = LineDecoder(HOST_MAX_FRAME)
        self._port: serial.Serial | None = self._open_port()

    @property
    def connected(self) -> bool:
        """Whether the port is open."""
        return self._port is not None

    @property
    def dropped(self) -> int:
        """Lines that were too long or did not check."""
        return self._dropped + self._decoder.dropped

    def attach(self, on_frame: OnFrame, on_state: Callable[[bool], None]) -> None:
        """Start the reader thread."""
        with self._lock:
            self._on_frame, self._on_state = on_frame, on_state
            if self._port is not None:
                self._start_reader(self._port)

    def ensure(self, timeout: float) -> None:
        """Open the port again where it was lost: one try. Raises LinkError."""
        with self._lock:
            if self._port is not None:
                return
            if self._address.target.startswith(PSEUDO_TERMINALS):
                # The next program that makes one gets its name.
                raise LinkError(f"the program at the other end of {self._path} has ended")
            self._port = self._open_port()
            if self._on_frame is not None:
                self._start_reader(self._port)
        if self._on_state is not None:
            self._on_state(True)

    def send(self, payload: bytes) -> None:
        """Write one line. Raises LinkError where the port is gone."""
        port = self._port
        if port is None:
            raise LinkError(f"{self._path} is not open; is the cable in?")
        try:
            with self._write_lock:
                port.write(to_line(payload))
        except GONE as error:
            self._lost(port)
            raise LinkError(f"cannot write to {self._path}: {error}") from None

    def estop(self) -> None:
        """Write the stop byte at once, in the middle of a line if need be, ahead of what still waits."""
        port = self._port
        if port is None:
            raise LinkError(f"{self._path} is not open; is the cable in?")
        try:
            port.reset_output_buffer()
            port.write(STOP_BYTE)
        except GONE as error:
            self._lost(port)
            raise LinkError(f"cannot write to {self._path}: {error}") from None

    def discard(self) -> None:
        """Drop what the port's buffer still holds."""
        port = self._port
        if port is not None:
            with contextlib.suppress(*GONE):
                port.reset_output_buffer()

    def close(self) -> None:
        """Let what was written go out, and close the port."""
        with self._lock:
            port, self._port = self._port, None
            self._on_state = None
        if port is not None:
            self._shut(port)

    def _shut(self, port: serial.Serial) -> None:
        # A port on which a thread still waits stays locked after it was closed.
        with contextlib.suppress(*GONE):
            port.cancel_read()
        reader = self._reader
        if reader is not None and reader is not threading.current_thread():
            reader.join(1.0)
        with contextlib.suppress(*GONE):
            port.close()

    def _open_port(self) -> serial.Serial:
        target = self._address.resolve()
        options: dict[str, Any] = {"baudrate": self._address.baud, "do_not_open": True}
        if self._address.networked:
            options["timeout"] = READ_SECONDS
        else:
            options |= {"exclusive": True, "write_timeout": 2.0}
        try:
            port: serial.Serial = serial.serial_for_url(target, **options)
            if not self._address.dtr:
                port.dtr = False
            port.open()
        except (serial.SerialException, OSError, ValueError) as error:
            raise LinkError(why_closed(target, error)) from None
        return port

    def _start_reader(self, port: serial.Serial) -> None:
        self._dropped += self._decoder.dropped
        self._decoder = LineDecoder(HOST_MAX_FRAME)
        self._reader = threading.Thread(
            target=self._read, args=(port, self._decoder), name=f"read {self._path}", daemon=True
        )
        self._reader.start()

    def _read(self, port: serial.Serial, decoder: LineDecoder) -> None:
        while self._port is port:
            try:
                data = port.read(port.in_waiting or 1)
            except (*GONE, ValueError):
                self._lost(port)
                return
            for payload in decoder.feed(data):
                try:
                    if self._on_frame is not None:
                        self._on_frame(payload, False)
                except Exception:
                    log.exception("a callback of the serial link failed")

    def _lost(self, port: serial.Serial) -> None:
        with self._lock:
            if self._port is not port:
                return
            self._port = None
            on_state = self._on_state
        self._shut(port)
        if on_state is not None:
            on_state(False)


def why_closed(path: str, error: Exception) -> str:
    """Why a port could not be opened, and what to do."""
    text = str(error)
    if isinstance(error, FileNotFoundError) or "No such file" in text:
        return f"there is no serial port {path}; is the cable in?"
    if "Permission denied" in text:
        return f"no permission to open {path}; add yourself to the group that owns it (often dialout)"
    if "exclusively lock" in text:
        holder = port_holder(path)
        return f"{path} is open in another program{f': {holder}' if holder else ''}; close that first"
    if "refused" in text:
        return f"nobody serves a serial port at {path}: connection refused"
    return f"cannot open {path}: {' '.join(text.split())}"
