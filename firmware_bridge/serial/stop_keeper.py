"""A small process that also holds a serial port, and stops the machine when the driving program cannot.

Foreign firmware has no watchdog for its host, and our own waits for some seconds. This process gets a
heartbeat over a pipe whose other end only the driving program holds. If that end closes without a message,
the program was killed; if no heartbeat arrives for three seconds, it stands still (stopped, or swapped out).
In both cases the stop is sent several times within a second, as some firmware ignores input at times
(FarmBot's for 0.2 s at the end of each move). For a lost port it waits: `late_stop`.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from dataclasses import asdict

from firmware_bridge.serial.address import SerialAddress

BEAT_SECONDS = 1.0
SILENT_SECONDS = 3.0
"""Time without a heartbeat after which the machine is stopped."""
LATE_STOP_SECONDS = 60.0
"""Time to wait for a lost port when the driving program has ended."""
DONE, PORT_LOST, WAIT, BEAT, STRUCK = b"d", b"g", b"w", b"h", b"s"

# Runs without this package to start fast, with only its descriptors. For a lost port it is replaced by
# `late_stop`.
PROGRAM = """
import os, select, signal, sys, termios, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
port, stop, silent, late = int(sys.argv[1]), bytes.fromhex(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]

def write():
    try:
        termios.tcflush(port, termios.TCOFLUSH)
    except (OSError, termios.error):
        pass
    try:
        os.write(port, stop)
    except OSError:
        return False
    return True

def strike():
    sent = False
    for pause in (0.05, 0.05, 0.1, 0.2, 0.3, 0.3, 0):
        sent = write() or sent
        time.sleep(pause)
    return sent

def let_go():
    try:
        os.close(port)
    except OSError:
        pass

def wait_for_port():
    let_go()
    if late:
        os.execv(late[0], late)
    sys.exit()

os.write(1, b"r")
struck, lost = False, False
while True:
    ready, _, _ = select.select([0], [], [], None if struck else silent)
    words = os.read(0, 4096) if ready else b""
    if b"d" in words:
        break
    if b"g" in words and not lost:
        lost = True
        let_go()
    if b"w" in words:
        wait_for_port()
    if words:
        struck = False
        continue
    if lost:
        wait_for_port()
    if not ready:
        # Told first: the host may be back before the last stop is out.
        os.write(1, b"s")
    sent = strike()
    if ready:
        if not sent:
            wait_for_port()
        break
    struck = True
    if not sent:
        wait_for_port()
"""


class StopKeeper:
    """Watches over one open port.

    Args:
        port: the port's file descriptor.
        stop: the bytes of the stop.
        address: where the port is found again once it was lost; None where it cannot come back.
    """

    def __init__(self, port: int, stop: bytes, address: SerialAddress | None) -> None:
        late = (
            []
            if address is None
            else [
                sys.executable,
                "-c",
                "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
                "from firmware_bridge.serial.late_stop import main; main(*sys.argv[2:])",
                json.dumps(sys.path),
                json.dumps(asdict(address)),
                stop.hex(),
                str(LATE_STOP_SECONDS),
            ]
        )
        # A session of its own, so that what kills our process group, or closes its terminal, leaves it alive.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", PROGRAM, str(port), stop.hex(), str(SILENT_SECONDS), *late],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=(port,),
            start_new_session=True,
        )
        assert self._process.stdout is not None and self._process.stdin is not None
        self._heard, self._told = self._process.stdout.fileno(), self._process.stdin.fileno()
        os.read(self._heard, 1)
        os.set_blocking(self._heard, False)
        self._lock = threading.Lock()
        self._open = True
        self._strikes = 0
        self._ended = threading.Event()
        threading.Thread(target=self._beat, name="heartbeat of the stop keeper", daemon=True).start()

    @property
    def strikes(self) -> int:
        """How often it stopped the machine because we stood still."""
        with self._lock:
            if self._open:
                with contextlib.suppress(OSError):
                    self._strikes += os.read(self._heard, 4096).count(STRUCK)
            return self._strikes

    def port_lost(self) -> None:
        """Release a lost port, so that its name is free, and keep running. Never raises."""
        self._tell(PORT_LOST)

    def end(self) -> None:
        """Let it go: the program that drives the port closes it itself. Never raises."""
        self._tell(DONE)
        self._close()
        try:
            self._process.wait(1.5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def wait_for_port(self) -> None:
        """Leave it behind: it waits for the port, sends the stop, and ends. Never raises."""
        self._tell(PORT_LOST + WAIT)
        self._close()

    def _tell(self, words: bytes) -> None:
        with self._lock, contextlib.suppress(OSError):
            if self._open:
                os.write(self._told, words)

    def _close(self) -> None:
        self._ended.set()
        with self._lock:
            self._open = False
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            self._tell(BEAT)
