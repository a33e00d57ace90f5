"""The stop for a machine whose cable was out when the program that drove it ended.

Runs as a process of its own, in place of the stop keeper: waits for the port, sends the stop and ends.
"""

from __future__ import annotations

import contextlib
import json
import time

from firmware_bridge.link import LinkError
from firmware_bridge.serial.address import SerialAddress
from firmware_bridge.serial.open import GONE, PortInUse, open_serial
from firmware_bridge.serial.ports import Selector

RETRY_SECONDS = 0.1
MOMENTS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Seconds after the port is open; opening it resets many a board, which is deaf until it has started."""


def send_when_back(address: SerialAddress, stop: bytes, seconds: float) -> bool:
    """Wait for the port, send the stop, and return whether it was sent.

    If another program has the port by then, it drives the machine, and nothing is sent.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            port = open_serial(address, timeout=0.5)
        except PortInUse:
            return False
        except LinkError:
            time.sleep(RETRY_SECONDS)
            continue
        sent = False
        began = time.monotonic()
        with contextlib.suppress(*GONE):
            for moment in MOMENTS:
                time.sleep(max(0.0, began + moment - time.monotonic()))
                port.write(stop)
                sent = True
        with contextlib.suppress(*GONE):
            port.close()
        if sent:
            return True
    return False


def main(address: str, stop: str, seconds: str) -> None:
    """The process; `address` is a `SerialAddress` as JSON, `stop` hexadecimal."""
    found = json.loads(address)
    selector = found.pop("selector")
    where = SerialAddress(**found, selector=None if selector is None else Selector(**selector))
    send_when_back(where, bytes.fromhex(stop), float(seconds))
