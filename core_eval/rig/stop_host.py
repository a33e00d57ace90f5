"""The host that a fault strikes: a child process that opens the rig, leaves the stop, and makes no call.

What moves is what the user lets move.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from configs.rig_config import RigConfig
from core_eval.rig.links import open_rig_link
from core_eval.rig.simulator_process import ProcessMonitor
from core_eval.text.foreign_json import parse_json
from firmware_bridge.client import RigClient
from firmware_bridge.link import LinkError
from firmware_bridge.serial.ports import DRIVEN, process_name

START_SECONDS = 60.0
STOP_SECONDS = 3.0
"""Time in which a rig must be stopped after a fault, once something is there that can stop it."""
NOTICE_SECONDS = 10.0
HOST = """
import json, sys, threading
sys.path[:], file = json.loads(sys.argv[1])
from configs.rig_config import RigConfig
from core_eval.rig.stop_host import host
host(RigConfig.model_validate(file))
"""


def host(config: RigConfig) -> None:
    """Be the host: open the rig, print what becomes of it, and stop it once a lost link is back."""

    def say(state: str, detail: Any = None) -> None:
        # One write a line: several threads say something.
        sys.stdout.write(json.dumps({"state": state, "detail": detail}) + "\n")
        sys.stdout.flush()

    def noted(state: str, detail: Any) -> None:
        say(state, dict(detail))
        if state == "link back":
            threading.Thread(target=stop, daemon=True).start()

    def stop() -> None:
        began = time.monotonic()
        outcome = client.estop(STOP_SECONDS)
        say("stop", {"stop": outcome, "seconds": round(time.monotonic() - began, 3)})

    with ExitStack() as stack:
        client = RigClient(
            open_rig_link(config, stack, ProcessMonitor()),
            on_noted=noted,
            on_freeze=lambda seconds: stop(),
            on_status=lambda status: say("status", {"state": status.state}),
        )
        status = client.open()
        client.reset(STOP_SECONDS)
        say("ready", {"firmware": status.fw, "watchdog_ms": status.watchdog_ms})
        while True:
            with suppress(LinkError):
                client.regain(NOTICE_SECONDS)
            time.sleep(0.1)


class StruckHost:
    """The child process, and the lines that it says."""

    def __init__(self, config: RigConfig) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", HOST, json.dumps([sys.path, config.model_dump(mode="json")])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._said: queue.Queue[tuple[float, dict[str, Any]]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.ready = self.wait(START_SECONDS, "ready")
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        self._keepers = [int(child) for child in children if process_name(int(child)) == DRIVEN]

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put((time.monotonic(), parse_json(line)))

    @property
    def kept(self) -> bool:
        """Whether a rig process stands beside it."""
        return bool(self._keepers)

    def wait(self, seconds: float, *states: str) -> dict[str, Any]:
        """Return the next line of one of these states, with its time `at`; empty if none comes."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            with suppress(queue.Empty):
                at, line = self._said.get(timeout=min(left, 0.2))
                if line["state"] in states:
                    return {"at": at, **(line["detail"] or {})}
            if self._process.poll() is not None and self._said.empty():
                break
        return {}

    def send(self, number: signal.Signals, *, keeper: bool = False) -> None:
        """Send a signal to it, and to its rig process before."""
        for process in [*(self._keepers if keeper else []), self._process.pid]:
            with suppress(ProcessLookupError):
                os.kill(process, number)

    def close(self) -> None:
        """Kill it; its rig process stops the rig."""
        self._process.kill()
        self._process.wait()
