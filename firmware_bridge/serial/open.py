"""Opens and locks a serial port, and explains why one cannot be opened."""

from __future__ import annotations

import time
from typing import Any

import serial

from firmware_bridge.link import LinkError
from firmware_bridge.serial.address import SerialAddress
from firmware_bridge.serial.ports import port_holder

GONE = (serial.SerialException, OSError, TypeError, ValueError, AttributeError)
"""Exceptions of pyserial for a lost port: TypeError and ValueError if another thread closed it meanwhile,
AttributeError if a networked one lacks the method."""
KEEPER_SECONDS = 3.0
"""Time for which the stop keeper of a killed program may still lock the port."""


class PortInUse(LinkError):
    """Another program has the port open."""


def open_serial(address: SerialAddress, timeout: float | None) -> Any:
    """Open the port, and lock it if it is local. Reads wait for `timeout` seconds.

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
            # A lock without a living holder belongs to a killed program.
            if (holder := port_holder(target)) is not None or time.monotonic() > deadline:
                text = (
                    f"{target} is open in another program{f': {holder}' if holder else ''}; close that first"
                )
                raise PortInUse(text) from None
            time.sleep(0.05)
        else:
            return port


def why_closed(path: str, error: Exception) -> str:
    """Return why a port could not be opened, and the remedy."""
    text = str(error)
    if isinstance(error, FileNotFoundError) or "No such file" in text:
        return f"there is no serial port {path}; is the cable in?"
    if "Permission denied" in text:
        return f"no permission to open {path}; add yourself to the group that owns it (often dialout)"
    if "refused" in text:
        return f"no serial port is served at {path}: connection refused"
    return f"cannot open {path}: {' '.join(text.split())}"
