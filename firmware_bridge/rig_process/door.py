"""Where a rig process whose host is gone is found by the next run: a socket in Linux's abstract namespace.

It has no file, so nothing is left behind. Both sides accept only a process of the same user.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
from collections.abc import Mapping
from typing import Any

_CREDENTIALS = struct.Struct("3i")


def door_name(function: str, arguments: Mapping[str, Any]) -> str:
    """Return the name of the door of the rig that is opened so; it tells nothing of the arguments."""
    opened = json.dumps([function, arguments], sort_keys=True)
    return f"pathrig-{os.geteuid()}-{hashlib.sha256(opened.encode()).hexdigest()[:32]}"


class Door:
    """Lets the next host in. Without one where another process has the name, or the system has none."""

    def __init__(self, name: str) -> None:
        self._socket: socket.socket | None = socket.socket(socket.AF_UNIX)
        try:
            self._socket.bind("\0" + name)
            self._socket.listen(1)
            self._socket.setblocking(False)
        except OSError:
            self._socket.close()
            self._socket = None

    def wait(self, seconds: float) -> socket.socket | None:
        """Return the next host's connection, waiting at most so long for it."""
        if self._socket is None:
            select.select([], [], [], seconds)
            return None
        if not _readable(self._socket, seconds):
            return None
        with contextlib.suppress(OSError):
            host, _ = self._socket.accept()
            if peer(host)[1] == os.geteuid():
                return host
            host.close()
        return None

    def turn_away(self, host: socket.socket) -> None:
        """Close what waits, while this process has a host that has said nothing which is still unread."""
        while self._socket is not None and _readable(self._socket):
            # Asked after the door: whoever came after a host's end came after that end could be read.
            if _readable(host):
                return
            if (other := self.wait(0.0)) is not None:
                other.close()


def enter(name: str, seconds: float) -> tuple[socket.socket, int] | None:
    """Return a connection to the rig process behind a door, and its id; None if there is none.

    It may be in the midst of a stop, and answers within `seconds`.
    """
    ours = socket.socket(socket.AF_UNIX)
    try:
        ours.settimeout(seconds)
        ours.connect("\0" + name)
        process, user = peer(ours)
        if user == os.geteuid() and ours.recv(1, socket.MSG_PEEK):
            ours.settimeout(None)
            return ours, process
    except OSError:
        pass
    ours.close()
    return None


def _readable(waiting: socket.socket, seconds: float = 0.0) -> bool:
    return bool(select.select([waiting], [], [], seconds)[0])


def peer(connected: socket.socket) -> tuple[int, int]:
    """Return the ids of the process and of the user at the other end."""
    credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, user, _ = _CREDENTIALS.unpack(credentials)
    return process, user


class AdoptedProcess:
    """A process that is no child of this one, with what `subprocess.Popen` has to end it."""

    def __init__(self, process: int) -> None:
        self.pid = process
        try:
            self._descriptor: int | None = os.pidfd_open(process)
        except ProcessLookupError:
            self._descriptor = None

    def kill(self) -> None:
        """Kill it, if it lives."""
        if self._descriptor is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for its end; its status is its parent's alone. Raises TimeoutExpired."""
        if self._descriptor is not None:
            if not select.select([self._descriptor], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            os.close(self._descriptor)
            self._descriptor = None
        return None
