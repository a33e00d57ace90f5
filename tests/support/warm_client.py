"""Run a `pathrig` command in a process forked by a `warm_server`, as if it were this one's own.

Its streams, folder, environment, signals and status are this process's. Few modules are imported: this is run
for every command.
"""

from __future__ import annotations

import marshal
import os
import signal
import socket
import sys
from contextlib import suppress

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def forward(number: int, server: socket.socket) -> None:
    """Tell of a signal; it comes too late where the command has ended."""
    with suppress(OSError):
        server.send(bytes([number]))


def main() -> int:
    address, *arguments = sys.argv[1:]
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        request = marshal.dumps((dict(os.environ), arguments))
        socket.send_fds(server, [len(request).to_bytes(4, "big")], [0, 1, 2, os.open(".", os.O_RDONLY)])
        server.sendall(request)
        for number in FORWARDED:
            signal.signal(number, lambda number, _: forward(number, server))
        answer = server.recv(4)
        for number in FORWARDED:
            signal.signal(number, signal.SIG_DFL)
    # Nothing where the server is gone: then the command was killed, too.
    status = int.from_bytes(answer, "big", signed=True) if answer else -signal.SIGKILL
    if status < 0:
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    sys.exit(main())
