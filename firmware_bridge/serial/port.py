"""The device's end of a serial line: a new pseudo terminal, or a real port."""

from __future__ import annotations

import contextlib
import os
import select
import termios
import threading
import time
import tty

import serial

from firmware_bridge.lines import STOP_BYTE, LineDecoder, to_line
from firmware_bridge.link import LinkError, Port, PortHandler
from firmware_bridge.messages import DeviceMessage, Status
from firmware_bridge.serial.address import DEFAULT_BAUD

MAX_WAITING = 1 << 20
"""Size of the output buffer, bytes; it is dropped when full, as a UART would drop it."""


class SerialPort(Port):
    """`pty` for a pseudo terminal, else the path of a port. `path` is what a host opens.

    Raises:
        LinkError: the port cannot be opened.
    """

    def __init__(self, path: str = "pty") -> None:
        self._real_path = None if path == "pty" else path
        self._serial: serial.Serial | None = None
        self._slave = -1
        self._fd = self._open_fd()
        self.path = self._real_path or os.ttyname(self._slave)
        self._wake_r, self._wake_w = os.pipe()
        os.set_blocking(self._wake_r, False)
        self._lock = threading.Lock()
        self._waiting = bytearray()
        self._closing = False
        self._handler: PortHandler | None = None
        self._decoder = LineDecoder()
        self._stop_in_line = False
        self._thread: threading.Thread | None = None
        self.lost = 0
        """Number of lines that no host read in time."""

    @property
    def dropped(self) -> int:
        """Number of lines that were too long or had a wrong checksum."""
        return self._decoder.dropped

    def open(self, handler: PortHandler, last_will: Status, max_frame: int) -> None:
        """Start the reader thread; a serial line has no last will."""
        self._handler = handler
        self._decoder = LineDecoder(max_frame)
        self._thread = threading.Thread(target=self._serve, name=f"device {self.path}", daemon=True)
        self._thread.start()
        handler.on_up()

    def send(self, message: DeviceMessage, payload: bytes) -> None:
        """Write as much of one line as the port accepts; the reader thread writes the rest."""
        line = to_line(payload)
        with self._lock:
            if self._closing or self._fd < 0:
                return
            if not self._waiting:
                with contextlib.suppress(OSError):
                    line = line[os.write(self._fd, line) :]
            if not line:
                return
            if len(self._waiting) > MAX_WAITING:
                self.lost += self._waiting.count(b"\n")
                self._waiting.clear()
            self._waiting += line
        os.write(self._wake_w, b"w")

    def discard(self) -> None:
        """Discard lines that no host has read."""
        with self._lock:
            self.lost += self._waiting.count(b"\n")
            self._waiting.clear()
            if self._slave >= 0:
                termios.tcflush(self._slave, termios.TCIFLUSH)

    def close(self, last: bytes) -> None:
        """Write as much of the last status as the port accepts, and close."""
        with self._lock:
            if self._closing:
                return
            self._closing = True
            if self._fd >= 0 and not self._waiting:
                with contextlib.suppress(OSError):
                    os.write(self._fd, to_line(last))
        os.write(self._wake_w, b"c")
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(2.0)
        self._close_fd()
        os.close(self._wake_r)
        os.close(self._wake_w)

    def _open_fd(self) -> int:
        if self._real_path is None:
            # The slave stays open here too, so that a host that closes it does not hang up the line.
            master, self._slave = os.openpty()
            tty.setraw(self._slave)
            os.set_blocking(master, False)
            return master
        try:
            self._serial = serial.Serial(self._real_path, DEFAULT_BAUD, exclusive=True)
        except (serial.SerialException, OSError, ValueError) as error:
            raise LinkError(f"cannot open the serial port {self._real_path}: {error}") from None
        return int(self._serial.fileno())

    def _close_fd(self) -> None:
        with self._lock:
            fd, self._fd = self._fd, -1
        if self._serial is not None:
            with contextlib.suppress(OSError, serial.SerialException):
                self._serial.close()
        elif fd >= 0:
            os.close(fd)
            os.close(self._slave)

    def _serve(self) -> None:
        assert self._handler is not None
        while not self._closing:
            try:
                writers = [self._fd] if self._waiting else []
                readable, writable, _ = select.select([self._fd, self._wake_r], writers, [])
                if self._wake_r in readable:
                    os.read(self._wake_r, 4096)
                if writable:
                    with self._lock, contextlib.suppress(BlockingIOError):
                        del self._waiting[: os.write(self._fd, self._waiting)]
                if self._fd in readable:
                    data = os.read(self._fd, 65_536)
                    if not data:
                        raise OSError("hung up")
                    self._take(data)
            except BlockingIOError:
                continue
            except OSError:
                if self._real_path is None:
                    return
                self._reopen()

    def _take(self, data: bytes) -> None:
        assert self._handler is not None
        *before, after = data.split(STOP_BYTE)
        if before:
            self._handler.on_stop()
        for part in before:
            for payload in self._decoder.feed(part):
                self._handler.on_frame(payload, before_stop=True)
        if before:
            self._stop_in_line = self._decoder.mid_line
        if self._stop_in_line and b"\n" in after:
            rest, after = after.split(b"\n", 1)
            for payload in self._decoder.feed(rest + b"\n"):
                self._handler.on_frame(payload, before_stop=True)
            self._stop_in_line = False
        for payload in self._decoder.feed(after):
            self._handler.on_frame(payload)

    def _reopen(self) -> None:
        self._close_fd()
        self.discard()
        while not self._closing:
            time.sleep(0.2)
            with contextlib.suppress(LinkError):
                self._fd = self._open_fd()
                assert self._handler is not None
                self._handler.on_up()
                return
