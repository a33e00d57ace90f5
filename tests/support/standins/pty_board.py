"""A board at the other end of a pty: what comes in is kept, and what goes out can be cut or held back."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import tempfile
import threading
import time
import tty


class Unplugged(Exception):
    """The cable is out."""


class PtyBoard:
    """Runs `step` in a thread of its own; `received` holds every byte that came."""

    cycle = 0.002
    baud_bytes = 64
    """Bytes that the serial input buffer holds; more are lost, as on an ATmega."""

    def __init__(self) -> None:
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        os.set_blocking(self.master, False)
        # A name of its own that goes with the cable: the kernel gives the number to whoever opens a pty next.
        self._folder = tempfile.mkdtemp(prefix="board-")
        self.path = f"{self._folder}/port"
        os.symlink(os.ttyname(self.slave), self.path)
        self.url = f"serial://{self.path}?baud=115200"
        self.received = bytearray()
        self.arrivals: list[tuple[float, int]] = []
        self.input = bytearray()
        self.lost_input = 0
        self.cut_lines = 0
        self.mute = False
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> PtyBoard:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.unplug()

    def unplug(self) -> None:
        """Take the cable out."""
        if not self._end.is_set():
            self._end.set()
            shutil.rmtree(self._folder, ignore_errors=True)
            if self._thread.is_alive():
                self._thread.join(2.0)
            for fd in (self.master, self.slave):
                with contextlib.suppress(OSError):
                    os.close(fd)

    def say(self, line: str) -> None:
        """Send a line; where lines are to be cut, its second half gets lost with its end."""
        text = f"{line}\r\n"
        if self.cut_lines > 0 and len(line) > 2:
            self.cut_lines -= 1
            text = text[: len(line) // 2]
        if not self.mute:
            with contextlib.suppress(OSError):
                os.write(self.master, text.encode("latin-1"))

    def byte_came(self, byte: int) -> bool:
        """Look at a byte the moment that it comes; whether it goes into the input buffer."""
        return True

    def step(self) -> None:
        """One turn of the firmware's main loop."""
        raise NotImplementedError

    def listen(self) -> None:
        """Take what the line holds. Raises Unplugged."""
        if self._end.is_set():
            raise Unplugged
        while select.select([self.master], [], [], 0)[0]:
            try:
                data = os.read(self.master, 256)
            except OSError:
                return
            for byte in data:
                self.received.append(byte)
                self.arrivals.append((time.monotonic(), byte))
                if self.byte_came(byte):
                    if len(self.input) < self.baud_bytes:
                        self.input.append(byte)
                    else:
                        self.lost_input += 1

    def _run(self) -> None:
        with contextlib.suppress(Unplugged):
            while True:
                self.listen()
                self.step()
                time.sleep(self.cycle)

    @property
    def lines(self) -> list[str]:
        """The lines that came, whole."""
        return self.received.decode("latin-1").replace("\r", "\n").split("\n")
