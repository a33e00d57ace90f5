"""`broker`: a mosquitto killed and started again while calls run."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter

from benchmarks.fault_runs.ledger import Counts, Ledger, work
from benchmarks.loopback_broker import loopback_broker
from core_eval.call_status import CallStatus
from firmware_bridge.client import RigClient
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.links import open_link
from firmware_bridge.mqtt.link import MqttPort


def broker_restarts(restarts: int, seed: int) -> Counts:
    """Send calls one after the other, while the broker is killed and restarted at random moments."""
    noise = random.Random(seed)
    device = Ledger(seconds=0.004)
    outcomes: Counter[str] = Counter()
    ended = threading.Event()
    with loopback_broker() as broker:
        url = f"mqtt://127.0.0.1:{broker.port}/ledger"
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
                    outcomes[outcome.status if outcome.status == CallStatus.OK else str(outcome.code)] += 1

            driver = threading.Thread(target=drive)
            driver.start()
            for _ in range(restarts):
                before = len(device.executed)
                deadline = time.monotonic() + 20
                # Some calls succeed between two restarts, so that each restart hits a live link.
                while len(device.executed) < before + 3 and time.monotonic() < deadline:
                    time.sleep(0.002)
                time.sleep(noise.uniform(0.0, 0.02))
                broker.kill()
                time.sleep(noise.uniform(0.0, 0.05))
                broker.start()
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
