"""Fork a process for each `pathrig` command of a `warm_client`: the modules are imported once, here.

A command's process is as a fresh one but for what is imported and for Python's own variables: it has the
client's streams, folder, environment and arguments, runs what is registered for the interpreter's end, and is
killed when its client is gone. It is a child of this process, in a session of its own, and takes no ignored
signals over: a command whose terminal, parent or process group matters is to be started by itself. Where the
first argument is a file of Python, this program is run instead of `pathrig`.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import marshal
import os
import runpy
import shutil
import signal
import socket
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader, BufferedWriter, FileIO, TextIOWrapper
from pathlib import Path
from pkgutil import walk_packages
from selectors import EVENT_READ, DefaultSelector
from typing import NoReturn

PACKAGES = ("core_eval", "agents", "firmware_bridge", "devices", "configs", "sims")


@dataclass(frozen=True)
class Command:
    """A command's process, a descriptor that tells of its end, and the connection to its client."""

    pid: int
    ended: int
    client: socket.socket

    def heed(self) -> bool:
        """Send it the signals that its client got; kill it and return False where the client is gone."""
        numbers = b""
        with suppress(ConnectionResetError):
            numbers = self.client.recv(16)
        for number in numbers or [signal.SIGKILL]:
            os.kill(self.pid, number)
        return bool(numbers)

    def tell(self) -> None:
        """Take its status, and tell the client."""
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        with suppress(BrokenPipeError):
            self.client.sendall(status.to_bytes(4, "big", signed=True))
        os.close(self.ended)
        self.client.close()


def serve(listener: socket.socket, until: int) -> bool:
    """Fork until the process of this descriptor ends; return True in a command's process, else False."""
    running: list[Command] = []
    with DefaultSelector() as selector:
        selector.register(until, EVENT_READ)
        selector.register(listener, EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj == until:
                    for one in running:
                        os.kill(one.pid, signal.SIGKILL)
                    return False
                if key.fileobj is listener:
                    client, _ = listener.accept()
                    if (request := asked(client)) is None:
                        client.close()
                    elif (pid := os.fork()) == 0:
                        for one in (listener, client, *(each.client for each in running)):
                            one.close()
                        for each in running:
                            os.close(each.ended)
                        become(*request)
                        return True
                    else:
                        for stream in request[0]:
                            os.close(stream)
                        command = Command(pid, os.pidfd_open(pid), client)
                        running.append(command)
                        selector.register(command.client, EVENT_READ, command)
                        selector.register(command.ended, EVENT_READ, command)
                elif key.fileobj == key.data.ended:
                    running.remove(key.data)
                    selector.unregister(key.data.ended)
                    with suppress(KeyError):
                        selector.unregister(key.data.client)
                    key.data.tell()
                elif key.data in running and not key.data.heed():
                    selector.unregister(key.data.client)


def asked(client: socket.socket) -> tuple[list[int], dict[str, str], list[str]] | None:
    """Take a client's streams and folder, environment and arguments; None of one that is gone already."""
    with suppress(ConnectionResetError), client.makefile("rb") as text:
        head, streams, _, _ = socket.recv_fds(client, 4, 4)
        request = text.read(int.from_bytes(head, "big"))
        with suppress(EOFError):
            return (streams, *marshal.loads(request))
    return None


def become(streams: list[int], environment: dict[str, str], arguments: list[str]) -> None:
    """Make this process the command's."""
    os.setsid()
    for number, stream in enumerate(streams[:3]):
        os.dup2(stream, number)
    os.fchdir(streams[3])
    for stream in streams:
        os.close(stream)
    # What these objects know of their files is of others.
    sys.stdin = TextIOWrapper(BufferedReader(FileIO(0, closefd=False)))
    sys.stdout = TextIOWrapper(BufferedWriter(FileIO(1, "w", closefd=False)))
    errors = BufferedWriter(FileIO(2, "w", closefd=False))
    sys.stderr = TextIOWrapper(errors, errors="backslashreplace", line_buffering=True)
    os.environ.clear()
    os.environ.update(environment)
    # As `python -m` does: the folder, the environment's, and what the installation has.
    added = [part for part in environment.get("PYTHONPATH", "").split(os.pathsep) if part]
    sys.path[:] = [str(Path.cwd()), *added, *(part for part in sys.path if part not in added)]
    sys.argv[1:] = arguments


def end(status: int) -> NoReturn:
    """End as the interpreter does, but do not take the modules apart: that would copy their memory."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


def main() -> int:
    del sys.path[0]  # This file's folder is none of the commands'.
    from core_eval.cli.main import main as pathrig
    from core_eval.log.known_schema import statements
    from core_eval.log.schema import MIGRATIONS
    from devices.registry import Registry

    for package in map(importlib.import_module, PACKAGES):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            # Not all extras need be there.
            with suppress(ImportError):
                importlib.import_module(module.name)
    registries = [one for one in gc.get_objects() if isinstance(one, Registry)]
    assert not any("_found" in vars(one) for one in registries), "what a command finds installed is its own"
    # A command that opens a log works this out, in 40 ms.
    statements(MIGRATIONS)
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a process with threads must not fork"
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        address, whose = sys.argv[1:]
        listener.bind(address)
        listener.listen(16)
        os.dup2(0, 1)
        until = os.pidfd_open(int(whose))
        is_command = serve(listener, until)
    os.close(until)
    if is_command:
        if sys.argv[1].endswith(".py"):
            del sys.argv[0]
            runpy.run_path(sys.argv[0], run_name="__main__")
            end(0)
        end(pathrig())
    shutil.rmtree(Path(address).parent)
    return 0


if __name__ == "__main__":
    sys.exit(main())
