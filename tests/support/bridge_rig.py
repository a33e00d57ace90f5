"""A small rig for the bridge's tests: a scripted device, a mosquitto, and a port that only records."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from paths import ROOT

from devices.harm import HarmEvent
from devices.outcome import Outcome, StopOutcome
from devices.sensors import Emit, Sample, Truth
from firmware_bridge.link import Port

WAIT = 25.0
"""Seconds. What a test waits for comes at once, unless a busy machine holds up its thread or process.

Shorter than the watchdogs of 30 s that shall not pass for what is waited for.
"""
EVENT = HarmEvent("spill", "cup", 0, 1.0, 2.0, 0.5, 0.25)


def wait_until(condition: Callable[[], bool], timeout: float = WAIT) -> bool:
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


class ScriptedDevice:
    """`echo` answers its arguments; `slow` runs until `go` or a stop; others misbehave in one way each."""

    name = "scripted"
    firmware = "scripted 1"

    def __init__(self, simulator: bool = True) -> None:
        self.simulator = simulator
        self.executed: list[tuple[str, dict[str, Any]]] = []
        self.inits: list[tuple[dict[str, Any], int]] = []
        self.started = threading.Event()
        self.go = threading.Event()
        self.made_safe = threading.Event()
        self.resets = 0
        self.t = 0.0
        self._emit: Emit | None = None

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: threading.Event) -> Outcome:
        self.executed.append((tool, dict(arguments)))
        self.t += 1.0
        if self._emit is not None:
            self._emit(Sample("moisture.plant_A", "wet", self.t))
        match tool:
            case "slow":
                self.started.set()
                while not self.go.wait(0.002):
                    if stop.is_set():
                        return Outcome("fault", code="stopped", message="stopped", t=self.t, duration=0.5)
            case "broken":
                raise RuntimeError("a wire came off")
            case "nan":
                return Outcome("ok", {"reading": float("nan")}, t=self.t)
            case "long":
                return Outcome("ok", {"text": "x" * 70_000}, t=self.t)
            case "refuse":
                return Outcome("rejected", code="locked", message="unlock it first", t=self.t)
        return Outcome("ok", dict(arguments), t=self.t, duration=1.0)

    def safe(self) -> StopOutcome:
        self.made_safe.set()
        return StopOutcome.CONFIRMED

    def reset(self) -> None:
        self.resets += 1
        self.made_safe.clear()

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        if not self.simulator:
            return Outcome("invalid", code="no_init", message="this is no simulator")
        self.inits.append((dict(state), seed))
        self.t = 0.0
        return Outcome("ok", {})

    def subscribe(self, emit: Emit) -> None:
        self._emit = emit

    def truth(self) -> Truth | None:
        return Truth(self.t, None, {"calls": len(self.executed)}, (EVENT,)) if self.simulator else None


class RecordingPort(Port):
    """A port that keeps what the endpoint sends, and hands it frames."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.handler: Any = None
        self.will: dict[str, Any] | None = None

    def open(self, handler: Any, last_will: Any, max_frame: int) -> None:
        self.handler = handler
        self.will = last_will.model_dump()
        handler.on_up()

    def send(self, message: Any, payload: bytes) -> None:
        self.sent.append(json.loads(payload))

    def close(self, last: bytes) -> None:
        self.sent.append(json.loads(last))

    def give(self, message: Any, before_stop: bool = False) -> None:
        payload = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.handler.on_frame(payload, before_stop)

    def of(self, op: str) -> list[dict[str, Any]]:
        return [message for message in list(self.sent) if message["op"] == op]

    def result(self, message_id: object) -> dict[str, Any]:
        assert wait_until(lambda: any(r["id"] == message_id for r in self.of("result"))), self.sent
        return next(r for r in self.of("result") if r["id"] == message_id)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Mosquitto:
    """A mosquitto on loopback that can be killed and started again on its port."""

    def __init__(self, extra: str = "allow_anonymous true\n") -> None:
        self.port = free_port()
        self.url = f"mqtt://127.0.0.1:{self.port}"
        self._folder = tempfile.TemporaryDirectory()
        self.folder = Path(self._folder.name)
        # mosquitto gives up root's rights before it reads its files
        self.folder.chmod(0o755)
        self._config = self.folder / "mosquitto.conf"
        self._config.write_text(f"listener {self.port} 127.0.0.1\nset_tcp_nodelay true\n{extra}")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        binary = shutil.which("mosquitto", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
        assert binary, "these tests need mosquitto; install it"
        command = [binary, "-c", str(self._config)]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        assert wait_until(self._listens), "mosquitto does not start"

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _listens(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 0.2):
            return True
        return False

    def __enter__(self) -> Mosquitto:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._folder.cleanup()


@contextlib.contextmanager
def python_child(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A Python process that runs `code`; killed at the end."""
    command = [sys.executable, "-c", code, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
