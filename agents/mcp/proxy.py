"""The standard streams of an MCP client as a session of an episode that another process runs.

Clients start a program for each session, and some open a session for each call. So that program is a thin
proxy to the process of the episode. It finds it by a socket: of the run whose program it serves, or one
that stands for the client and the options that it gives.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import select
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SOCKET = "PATHRIG_MCP_SOCKET"
"""Environment variable: the socket of the running episode, for what a run's program starts."""
CHUNK = 65536
LOOK_SECONDS = 0.02
END_SECONDS = 10.0
"""Time for a process that has closed its socket to end, s."""


def listen(path: Path) -> socket.socket:
    """Return a socket that listens at a path."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()
    return listening


class EpisodePlace:
    """Where the sessions of one episode meet: a socket in a folder of the user's own.

    Raises:
        OSError: the folder cannot be made, or is open to other users.
    """

    def __init__(self, *key: object) -> None:
        folder = Path(tempfile.gettempdir()) / f"pathrig-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        facts = folder.lstat()
        if facts.st_uid != os.getuid() or facts.st_mode & 0o077:
            raise PermissionError(errno.EPERM, f"{folder} is open to other users: remove it")
        name = hashlib.sha256("\0".join(map(str, key)).encode()).hexdigest()[:16]
        self._path = folder / name
        self._lock = folder / "lock"

    def join(self) -> Proxy | socket.socket:
        """Return a session of the running episode; begin one in a process of its own if there is none.

        It returns twice if it begins one: in that process it returns the socket to serve.
        """
        with self._locked():
            connection = self._connect()
            if connection is not None:
                return Proxy(connection)
            # One whose process was killed is left.
            self._path.unlink(missing_ok=True)
            child = os.fork()
            if child == 0:
                _detach()
                return listen(self._path)
            while True:
                connection = self._connect()
                if connection is not None:
                    return Proxy(connection, child)
                if os.waitpid(child, os.WNOHANG)[0]:
                    raise ConnectionError(errno.ECONNREFUSED, "the episode's process did not start")
                time.sleep(LOOK_SECONDS)

    def leave(self) -> None:
        """Let the next session begin a new episode."""
        with self._locked():
            self._path.unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._lock.open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _connect(self) -> socket.socket | None:
        try:
            return connect(self._path)
        except OSError:
            return None


def connect(path: Path) -> socket.socket:
    """Return a connection to an episode's socket.

    Raises:
        OSError: nothing listens there.
    """
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(path))
    except OSError:
        connection.close()
        raise
    return connection


class Proxy:
    """A session on the standard streams, passed on to the process of the episode.

    Args:
        connection: to that process.
        child: its id, if this process has started it.
    """

    def __init__(self, connection: socket.socket, child: int | None = None) -> None:
        self._connection = connection
        self._child = child

    def relay(self) -> int:
        """Pass messages on until either side ends; return the status of an episode that could not begin."""
        threading.Thread(target=self._read, name="MCP: standard input", daemon=True).start()
        began = False
        with suppress(OSError):
            while data := self._connection.recv(CHUNK):
                began = True
                while data:
                    data = data[os.write(1, data) :]
        if self._child is None or began:
            return 0
        return self._status_of(self._child)

    def interrupt(self) -> None:
        """Pass Ctrl-C on, which stops the rig: only this process is in the terminal's foreground."""
        if sys.platform == "linux":
            facts = self._connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            os.kill(struct.unpack("3i", facts)[0], signal.SIGINT)

    def _status_of(self, child: int) -> int:
        end = time.monotonic() + END_SECONDS
        while time.monotonic() < end:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            time.sleep(LOOK_SECONDS)
        return 0

    def _read(self) -> None:
        with suppress(OSError):
            while data := os.read(0, CHUNK):
                self._connection.sendall(data)
            self._connection.shutdown(socket.SHUT_WR)


def _detach() -> None:
    """Leave the client's process group and its standard streams, but standard error."""
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)


def leave_after_exit(process: int, leave: Callable[[], None]) -> None:
    """Call `leave` once a process has ended, from a thread."""

    def watch() -> None:
        wait_for_exit(process)
        leave()

    threading.Thread(target=watch, name="MCP: client", daemon=True).start()


def wait_for_exit(pid: int) -> None:
    """Wait until a process has ended; return at once if there is none."""
    if sys.platform == "linux":
        with suppress(OSError):
            select.select([os.pidfd_open(pid)], [], [])
        return
    with suppress(OSError):
        while True:
            os.kill(pid, 0)
            time.sleep(LOOK_SECONDS)
