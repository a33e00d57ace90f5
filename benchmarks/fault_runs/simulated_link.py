"""`simulated`: calls over the link faults of the farm rover's own world."""

from __future__ import annotations

import sys
from collections import Counter

from benchmarks.fault_runs.ledger import Counts
from configs.worlds_loader import load_world, make_simulator
from core_eval.call_status import CallStatus
from firmware_bridge.client import RigClient
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.links import open_link
from firmware_bridge.serial.port import SerialPort
from sims.faulty_link import FaultyPort


def simulated_link(calls: int, seed: int) -> Counts:
    """Send calls over the link faults of a simulator's own world, with the host's retries."""
    device = make_simulator(load_world("farm_rover"))
    serial_port = SerialPort("pty")
    port = device.wrap_port(serial_port)
    assert isinstance(port, FaultyPort)
    outcomes: Counter[str] = Counter()
    faults = [
        {"kind": "link_loss", "at": 0.0, "strength": 0.2},
        {"kind": "link_delay", "at": 0.0, "strength": 0.002},
    ]
    with (
        DeviceEndpoint(device, port, watchdog_ms=600_000),
        RigClient(open_link(f"serial://{serial_port.path}"), retry_after=0.02) as client,
    ):
        client.open()
        client.reset()
        if client.init({"faults": {"schedule": faults}}, seed).status != "ok":
            sys.exit("the simulator takes no faults of the link")
        for _ in range(calls):
            outcome = client.call("sense_battery", {}, timeout=30.0)
            outcomes[outcome.status if outcome.status == CallStatus.OK else str(outcome.code)] += 1
        executed = round(device.clock.now / device.world.rover.read_s)
    return {
        "calls": calls,
        "lost": port.faults.lost,
        "delayed": port.faults.delayed,
        "executed": executed,
        "answered": outcomes["ok"],
        "unanswered": calls - outcomes["ok"],
        "twice": max(0, executed - calls),
        "wrong": max(0, outcomes["ok"] - executed),
    }
