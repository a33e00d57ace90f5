"""The serial ports of this machine: list, selection, and the process that has one open."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from firmware_bridge.link import LinkError

DRIVEN, STOPPING = "pathrig rig", "pathrig stop"
"""Names of a rig process: while it has a host, and once it only stops the rig."""


@dataclass(frozen=True, order=True)
class PortInfo:
    """A port, and the USB descriptors of its adapter, if it has them."""

    path: str
    serial: str | None = None
    vid: int | None = None
    pid: int | None = None
    description: str = ""

    @property
    def url(self) -> str:
        """The rig URL that finds the port under any path."""
        if self.serial:
            return f"serial://?serial={quote(self.serial)}"
        if self.vid is not None and self.pid is not None:
            return f"serial://?vid={self.vid:04x}&pid={self.pid:04x}"
        return f"serial://{self.path}"

    def __str__(self) -> str:
        usb = "" if self.vid is None or self.pid is None else f" {self.vid:04x}:{self.pid:04x}"
        number = f" serial {self.serial}" if self.serial else ""
        return f"{self.path}{usb}{number}"


@dataclass(frozen=True)
class Selector:
    """Required USB descriptors of a port; None matches any."""

    serial: str | None = None
    vid: int | None = None
    pid: int | None = None

    def find(self, ports: Iterable[PortInfo]) -> PortInfo:
        """Return the one matching port.

        Raises:
            LinkError: no port matches, or more than one.
        """
        known = list(ports)
        found = [port for port in known if self._fits(port)]
        if len(found) == 1:
            return found[0]
        if found:
            raise LinkError(
                f"{len(found)} serial ports have {self}: {'; '.join(map(str, found))}; name one by serial="
            )
        raise LinkError(
            f"no serial port has {self}; there are: {'; '.join(map(str, known)) or 'none'}; is the cable in?"
        )

    def _fits(self, port: PortInfo) -> bool:
        return (
            self.serial in (None, port.serial)
            and self.vid in (None, port.vid)
            and self.pid in (None, port.pid)
        )

    def __str__(self) -> str:
        parts = [] if self.serial is None else [f"serial={self.serial}"]
        parts += [] if self.vid is None else [f"vid={self.vid:04x}"]
        return " ".join(parts + ([] if self.pid is None else [f"pid={self.pid:04x}"]))


def list_ports() -> list[PortInfo]:
    """Return all serial ports of this machine."""
    from serial.tools.list_ports import comports

    return sorted(
        PortInfo(port.device, port.serial_number or None, port.vid, port.pid, port.description or "")
        for port in comports()
    )


def find_by_plugging(
    tell: Callable[[str], None],
    *,
    ports: Callable[[], Iterable[PortInfo]] = list_ports,
    timeout: float = 60.0,
    period: float = 0.2,
) -> PortInfo:
    """Return the port that is plugged in next; `tell` receives instructions for the person.

    Raises:
        LinkError: nothing was plugged in within `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    before = set(ports())
    tell("Unplug the rig's cable and plug it in again, or plug it in now.")
    while time.monotonic() < deadline:
        time.sleep(period)
        now = set(ports())
        new = sorted(now - before)
        if new:
            return new[0]
        for gone in sorted(before - now):
            tell(f"{gone} is gone. Plug it in again.")
        before = now
    raise LinkError(f"no serial port was plugged in within {timeout:g} s")


def port_holder(path: str) -> int | None:
    """Return the id of the process that has locked a port; None if it is not known."""
    try:
        status = Path(path).stat()
        locks = Path("/proc/locks").read_text(encoding="ascii")
        place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        for line in locks.splitlines():
            fields = line.split()
            if "FLOCK" in fields and place in fields:
                return int(fields[fields.index(place) - 1])
    except (OSError, ValueError):
        pass
    return None


def process_name(pid: int) -> str:
    """Return the short name of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return ""


def describe_process(pid: int) -> str:
    """Return a process's command, id and start; of a rig process those of its host. Empty if it has ended."""
    try:
        if process_name(pid) == DRIVEN:
            parent = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[1]
            return _process(int(parent))
        return _process(pid)
    except (OSError, ValueError, StopIteration):
        return ""


def _process(pid: int) -> str:
    folder = Path(f"/proc/{pid}")
    words = folder.joinpath("cmdline").read_bytes().split(b"\0")
    name = " ".join(word.decode(errors="replace") for word in words[:3]).strip() or "a program"
    # proc_pid_stat(5): the 22nd field is the start after boot, in ticks; the second holds spaces.
    ticks = int(folder.joinpath("stat").read_text(errors="replace").rpartition(")")[2].split()[19])
    boot = next(
        int(line.split()[1])
        for line in Path("/proc/stat").read_text(encoding="ascii").splitlines()
        if line.startswith("btime")
    )
    since = time.gmtime(boot + ticks / os.sysconf("SC_CLK_TCK"))
    return f"{name[:80]} (process {pid}), which runs since {time.strftime('%Y-%m-%d %H:%M:%S', since)} UTC"
