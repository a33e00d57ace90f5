"""Opening a serial port for this program alone, and why one cannot be opened."""

from __future__ import annotations

import time
from typing import Any

import serial

from firmware_bridge.link import LinkError
from firmware_bridge.serial.address import SerialAddress
from firmware_bridge.serial.ports import port_holder

GONE = (serial.SerialException, OSError, TypeError, ValueError, AttributeError)
"""What pyserial raises for a port that is gone: TypeError and ValueError where another thread closed it
meanwhile, and AttributeError where a networked one lacks the method."""
KEEPER_SECONDS = 3.0
"""How long a port may stay locked after its program was killed: its stop keeper still writes."""


class PortInUse(LinkError):
    """Another program has the port open."""


def open_serial(address: SerialAddress, timeout: float | None) -> Any:
    """Open the port; one of this machine is locked against other programs. Reads wait for `timeout` seconds.

    Raises:
        PortInUse: another program has it.
        LinkError: there is no such port, or no permission.
    """
    target = address.resolve()
    options: dict[str, Any] = {"baudrate": address.baud, "timeout": timeout, "do_not_open": True}
    if not address.networked:
        options |= {"exclusive": True, "write_timeout": 2.0}
    deadline = time.monotonic() + KEEPER_SECONDS
    while True:
        try:
            port: Any = serial.serial_for_url(target, **options)
            if not address.dtr:
                port.dtr = False
            port.open()
        except (serial.SerialException, OSError, ValueError) as error:
            if "exclusively lock" not in str(error):
                raise LinkError(why_closed(target, error)) from None
            # A lock without a living holder is that of a program that was killed.
            if (holder := port_holder(target)) is not None or time.monotonic() > deadline:
                text = (
                    f"{target} is open in another program{f': {holder}' if holder else ''}; close that first"
                )
                raise PortInUse(text) from None
            time.sleep(0.05)
        else:
            return port


def why_closed(path: str, error: Exception) -> str:
    """Why a port could not be opened, and what to do."""
    text = str(error)
    if isinstance(error, FileNotFoundError) or "No such file" in text:
        return f"there is no serial port {path}; is the cable in?"
    if "Permission denied" in text:
        return f"no permission to open {path}; add yourself to the group that owns it (often dialout)"
    if "refused" in text:
        return f"nobody serves a serial port at {path}: connection refused"
    return f"cannot open {path}: {' '.join(text.split())}"
