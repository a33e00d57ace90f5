"""A mosquitto on loopback, which a benchmark may kill and restart."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

SECONDS_TO_START = 10.0


class LoopbackBroker:
    """A mosquitto without permissions on a free port, with TCP_NODELAY."""

    def __init__(self, folder: Path) -> None:
        binary = shutil.which("mosquitto", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if binary is None:
            sys.exit("mosquitto is not installed; install it, or use --only serial")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        config = folder / "mosquitto.conf"
        config.write_text(f"listener {self.port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n")
        # Started by root, mosquitto runs as another user.
        folder.chmod(0o755)
        self._command = [binary, "-c", str(config)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self._process = subprocess.Popen(self._command, stderr=subprocess.DEVNULL)
        until = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < until:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 0.2):
                return
            time.sleep(0.01)
        sys.exit("mosquitto does not start")

    def kill(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None


@contextlib.contextmanager
def loopback_broker() -> Iterator[LoopbackBroker]:
    """Yield a running broker, and stop it afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        broker = LoopbackBroker(Path(folder))
        try:
            broker.start()
            yield broker
        finally:
            broker.kill()
