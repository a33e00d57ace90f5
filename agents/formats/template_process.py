"""Render chat templates in a process of its own: they are foreign code, and may loop or fill the memory."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from agents.agent import BackendError

PROGRAM = Path(__file__).with_name("template_program.py")
SECONDS = 5.0
"""Seconds of processor time that one text may take; a template takes some milliseconds."""
STARVED = 6.0
"""Seconds of wall time for each of processor time, on a busy machine."""
FAILS = "the model's chat template"


class TemplateProcess:
    """A process that compiles and renders templates; started when it is needed, and after one that ended.

    It serves all templates of this process: each request holds its template's source.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def names(self, source: str, seconds: float = SECONDS) -> frozenset[str]:
        """Return the names of the variables that a template reads.

        Raises:
            BackendError: it does not compile, or takes too long or too much memory.
        """
        return frozenset(self._asked({"source": source}, seconds)["names"])

    def text(self, source: str, variables: Mapping[str, Any], seconds: float = SECONDS) -> str:
        """Return what a template renders with these variables, which are JSON.

        Raises:
            BackendError: it fails, or takes too long or too much memory.
        """
        return str(self._asked({"source": source, "variables": variables}, seconds)["text"])

    def close(self) -> None:
        """End the process, also while a thread waits for a text of it: that one fails."""
        if (process := self._process) is not None:
            process.kill()
        with self._lock:
            self._end()

    def _asked(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        with self._lock:
            line = self._line(json.dumps({**request, "seconds": seconds}).encode() + b"\n", seconds)
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            how = "fails" if reply["compiled"] else "does not compile"
            raise BackendError(f"{FAILS} {how}: {reply['error']}")
        return reply

    def _line(self, request: bytes, seconds: float) -> bytes:
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        answer = bytearray()
        until = time.monotonic() + seconds * STARVED
        poll = select.poll()
        poll.register(process.stdout, select.POLLIN)
        late = False
        try:
            process.stdin.write(request)
            process.stdin.flush()
            while not answer.endswith(b"\n"):
                late = not poll.poll(max(0.0, until - time.monotonic()) * 1000)
                part = b"" if late else os.read(process.stdout.fileno(), 1 << 20)
                if not part:
                    raise EOFError
                answer += part
        except (BrokenPipeError, EOFError):
            code = None if late else process.wait()
            self._end()
            if code in (None, -signal.SIGXCPU):
                raise BackendError(f"{FAILS} takes more than {seconds:.1f} s of processor time") from None
            raise BackendError(f"{FAILS} ends the process that renders it (status {code})") from None
        except BaseException:
            # An answer that nobody reads would be the next request's.
            self._end()
            raise
        return bytes(answer)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(PROGRAM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            with suppress(BrokenPipeError):
                self._process.__exit__(None, None, None)
            self._process = None


TEMPLATES = TemplateProcess()
"""The one of this process."""
atexit.register(TEMPLATES.close)
