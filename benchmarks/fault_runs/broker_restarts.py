"""`broker`: a mosquitto killed and started again while calls run."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.fault_runs.ledger import Counts, Ledger, work
from firmware_bridge.client import RigClient
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.links import open_link
from firmware_bridge.mqtt_link import MqttPort


@contextlib.contextmanager
def mosquitto() -> Iterator[tuple[int, Callable[[], None], Callable[[], None]]]:
    """A port, and what starts and kills the broker there."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    binary = shutil.which("mosquitto", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if binary is None:
        sys.exit("mosquitto is not installed; install it, or use --only serial")
    running: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "mosquitto.conf"
        config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n")
        Path(folder).chmod(0o755)

        def start() -> None:
            running.append(subprocess.Popen([binary, "-c", str(config)], stderr=subprocess.DEVNULL))
            for _ in range(400):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                    return
                time.sleep(0.01)
            sys.exit("mosquitto does not start")

        def kill() -> None:
            process = running.pop()
            process.kill()
            process.wait(10)

        start()
        try:
            yield port, start, kill
        finally:
            if running:
                kill()


def broker_restarts(restarts: int, seed: int) -> Counts:
    """Calls one after the other, while the broker is killed and started again at random moments."""
    noise = random.Random(seed)
    device = Ledger(seconds=0.004)
    outcomes: Counter[str] = Counter()
    ended = threading.Event()
    with mosquitto() as (port, start, kill):
        url = f"mqtt://127.0.0.1:{port}/ledger"
        with (
            DeviceEndpoint(device, MqttPort(url), watchdog_ms=600_000),
            RigClient(open_link(url), retry_after=0.1) as client,
        ):
            client.open()

            def drive() -> None:
                number = 0
                while not ended.is_set():
                    number += 1
                    outcome = client.call("work", work(number), timeout=20.0)
                    outcomes[outcome.status if outcome.status == "ok" else str(outcome.code)] += 1

            driver = threading.Thread(target=drive)
            driver.start()
            for _ in range(restarts):
                before = len(device.executed)
                deadline = time.monotonic() + 20
                # Some calls come through between two deaths, so that each death strikes a live link.
                while len(device.executed) < before + 3 and time.monotonic() < deadline:
                    time.sleep(0.002)
                time.sleep(noise.uniform(0.0, 0.02))
                kill()
                time.sleep(noise.uniform(0.0, 0.05))
                start()
            ended.set()
            driver.join(60)
    calls = sum(outcomes.values())
    return {
        "restarts": restarts,
        "calls": calls,
        "executed": len(device.executed),
        "answered": outcomes["ok"],
        "faults": calls - outcomes["ok"],
        "twice": device.twice,
        "wrong": device.wrong,
    }
