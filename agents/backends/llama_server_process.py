"""A llama-server of the user's own, started for a model and ended with this process."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from agents.agent import AgentSpecError
from agents.backends.chat_server import ChatServer
from agents.deadline import Deadline
from firmware_bridge import process_keeper

PROGRAM = "llama-server"
LOAD_SECONDS = 600.0
"""Time to load a model: gigabytes, from the card of a small board."""
ASK_EVERY_SECONDS = 0.1
END_SECONDS = process_keeper.END_SECONDS + 2.0
LAST_LINES = 40
WORDS = ("error", "failed", "invalid", "unable", "cannot", "usage")
"""The last line with one of these says why a server ended; its very last one is often only that it did."""


def find_program(given: Path | None) -> str:
    """Return the path of a llama-server: the given one, or that on PATH.

    Raises:
        AgentSpecError: there is none.
    """
    found = shutil.which(PROGRAM if given is None else str(given))
    if found is None and given is not None:
        # A path drops the ./ before a file of the current folder.
        found = shutil.which(given.absolute())
    if found is not None:
        return found
    if given is None:
        raise AgentSpecError(
            f"there is no {PROGRAM} on PATH: install llama.cpp, or name the program with the option "
            f"server=PATH, as in {PROGRAM}:FILE.gguf?server=/opt/llama.cpp/{PROGRAM}"
        )
    raise AgentSpecError(f"option server={given}: there is no such program, or it may not be run")


class LlamaServerProcess:
    """A running server, on a free port of this machine, with a key that only this process knows.

    Attributes:
        url: the base URL of its API.
        key: its key.
        process: its process id.
        load_seconds: how long it took until it was healthy, s.
        props: its `/props`.
    """

    def __init__(self, program: str, arguments: Sequence[str]) -> None:
        """Start a server, and wait until it is healthy.

        Raises:
            AgentSpecError: it cannot be started, ends by itself, or is not healthy in time.
        """
        begun = time.monotonic()
        self._program = program
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.url, self.key = f"http://127.0.0.1:{port}/v1", secrets.token_urlsafe(24)
        self._last_lines: deque[str] = deque(maxlen=LAST_LINES)
        command = [program, *arguments, "--host", "127.0.0.1", "--port", str(port)]
        self._keeper = subprocess.Popen(
            process_keeper.kept(command, streams=False),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "LLAMA_API_KEY": self.key},
        )
        assert self._keeper.stdout is not None and self._keeper.stderr is not None
        self._reader = threading.Thread(target=self._read, args=(self._keeper.stderr,), daemon=True)
        self._reader.start()
        try:
            self.process = int(self._keeper.stdout.readline() or 0)
            self.props = self._wait()
        except BaseException:
            self.close()
            raise
        self.load_seconds = time.monotonic() - begun

    @property
    def trouble(self) -> str | None:
        """How the server ended, and its last words; None while it runs."""
        status = self._keeper.poll()
        if status is None:
            return None
        self._reader.join(1.0)
        lines = [line.strip() for line in self._last_lines if line.strip()]
        telling = [line for line in lines if any(word in line.lower() for word in WORDS)]
        words = (telling or lines)[-2:]
        return (
            f"{self._program} ended ({process_keeper.ending(status)}){': ' * bool(words)}{'; '.join(words)}"
        )

    def close(self) -> None:
        """End the server."""
        assert self._keeper.stdin is not None and self._keeper.stdout is not None
        with suppress(OSError):
            self._keeper.stdin.close()
        try:
            self._keeper.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._keeper.pid, signal.SIGKILL)
            self._keeper.wait()
        self._reader.join(1.0)
        self._keeper.stdout.close()

    def _read(self, errors: IO[bytes]) -> None:
        with errors:
            for line in errors:
                self._last_lines.append(line.decode(errors="replace"))

    def _wait(self) -> dict[str, Any]:
        server = ChatServer(self.url, key=self.key)
        deadline = Deadline(LOAD_SECONDS)
        while not deadline.over:
            if (trouble := self.trouble) is not None:
                raise AgentSpecError(trouble)
            health = server.get(f"{server.root}/health", Deadline(2.0, deadline.cancellation))
            if isinstance(health, dict) and health.get("status") == "ok":
                props = server.get(f"{server.root}/props", Deadline(10.0, deadline.cancellation))
                if isinstance(props, dict):
                    return props
                raise AgentSpecError(
                    f"{self._program} is healthy and has no /props: it is too old, or no llama-server"
                )
            deadline.wait(ASK_EVERY_SECONDS)
        raise AgentSpecError(f"{self._program} was not healthy within {LOAD_SECONDS:g} s")
