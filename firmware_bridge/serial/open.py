"""Opens and locks a serial port, and explains why one cannot be opened."""

from __future__ import annotations

import contextlib
import termios
import time
from collections.abc import Callable
from typing import Any, TypeVar

import serial

from firmware_bridge.link import LinkError, PortInUse, tell_terminal
from firmware_bridge.serial.address import DEFAULT_BAUD, SerialAddress, parse_serial_url
from firmware_bridge.serial.ports import STOPPING, describe_process, port_holder, process_name

T = TypeVar("T")
GONE = (serial.SerialException, OSError, termios.error, TypeError, ValueError, AttributeError)
"""Exceptions of pyserial for a lost port: TypeError and ValueError if another thread closed it meanwhile,
AttributeError if a networked one lacks the method."""
LOCKED_SECONDS = 3.0
"""Time for which the port of a killed program may still be locked."""
STOPPING_SECONDS = 30.0
"""Time for which the rig process of an earlier run may still be stopping the rig."""


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
    began = time.monotonic()
    told = False
    while True:
        try:
            port: Any = serial.serial_for_url(target, **options)
            if not address.dtr:
                port.dtr = False
            port.open()
        except (serial.SerialException, OSError, ValueError) as error:
            if "exclusively lock" not in str(error):
                raise LinkError(why_closed(target, error)) from None
            holder, waited = port_holder(target), time.monotonic() - began
            if holder is not None and process_name(holder) == STOPPING and waited < STOPPING_SECONDS:
                if not told:
                    told = True
                    tell_terminal(
                        f"the rig process of an earlier run (process {holder}) is stopping the rig at "
                        f"{target}: waiting for it"
                    )
            # A lock without a living holder belongs to a killed program.
            elif holder is not None or waited > LOCKED_SECONDS:
                who = "" if holder is None else describe_process(holder)
                raise PortInUse(
                    f"{target} is open in another program{f': {who}' if who else ''}; close that first"
                ) from None
            time.sleep(0.05)
        else:
            return port


def open_port(url: str, timeout: float, baud: int = DEFAULT_BAUD) -> Any:
    """Open the port of a serial URL, as a driver in Python needs it; reads wait for `timeout` seconds.

    Raises:
        OSError: it cannot be opened.
    """
    try:
        return open_serial(parse_serial_url(url, baud), timeout)
    except LinkError as error:
        raise OSError(str(error)) from None


def or_gone(act: Callable[[], T]) -> T:
    """Return what a use of a port returns, for a driver in Python.

    Raises:
        OSError: the port is lost.
    """
    try:
        return act()
    except OSError:
        raise
    except GONE as error:
        raise OSError(f"the port is closed ({error})") from None


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


def close_serial(port: Any | None) -> None:
    """Close a port, lost or not. Never raises."""
    if port is not None:
        with contextlib.suppress(*GONE):
            port.close()


def comes_back(address: SerialAddress) -> bool:
    """Return whether a lost port can come back: a pseudo terminal's number never means the same one again."""
    return not address.target.startswith("/dev/pts/")


def port_comes_back(url: str) -> bool:
    """Return whether what a URL leads to can come back: all that is no pseudo terminal."""
    try:
        return comes_back(parse_serial_url(url))
    except LinkError:
        return True
