"""The faults of `pathrig rigs check --kill --cut --suspend`: on the user's own bench, with times, to sign.

A child process is the host. It opens the rig, leaves the stop, and makes no call: what moves is what the user
lets move. What it learns comes back as lines; what the next host learns is read from the rig itself.
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from textwrap import wrap
from typing import Any

from configs.rig_config import RigConfig
from core_eval.rig.links import open_rig_link
from core_eval.rig.serve_simulator import ServedSimulator
from core_eval.rig.signals import RigError
from core_eval.rig.simulator_process import ProcessMonitor, simulator_process
from core_eval.text.foreign_json import parse_json
from firmware_bridge.client import RigClient
from firmware_bridge.link import LinkError
from firmware_bridge.serial.ports import DRIVEN, process_name

START_SECONDS = 60.0
STOP_SECONDS = 3.0
"""Time in which a rig must be stopped after a fault, once something is there that can stop it."""
FAR_SECONDS = 8.0
"""Longest time for a device's own watchdog, and for a machine's last stop."""
SUSPEND_SECONDS = 6.0
NOTICE_SECONDS = 10.0
PERSON_SECONDS = 120.0
HOST = """
import json, sys, threading
sys.path[:], file = json.loads(sys.argv[1])
from configs.rig_config import RigConfig
from core_eval.rig.stop_trial import host
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


@dataclass(frozen=True)
class Trial:
    """One fault: what was expected, what was measured, and whether that passes."""

    fault: str
    expected: str
    measured: str
    passed: bool


class _Host:
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


def try_stops(
    config: RigConfig, faults: Sequence[str], prompt: Callable[[str], None]
) -> tuple[str, list[Trial]]:
    """Strike each fault, `kill`, `suspend` or `cut`, and return the firmware and what was measured.

    Args:
        config: the rig; a simulated one is served here, and its cable is cut without a person.
        faults: in this order.
        prompt: tells a person what to do with the cable, and returns at once.

    Raises:
        RigError: the rig does not answer.
    """
    strikes = {"kill": _kill, "suspend": _suspend, "cut": _cut}
    trials, firmware = [], "not stated"
    for fault in faults:
        with _bench(config) as (rig, cut):
            hosting = _Host(rig)
            try:
                if not hosting.ready:
                    raise RigError(f"rig {config.name}: it does not answer a host")
                firmware = hosting.ready["firmware"] or firmware
                trials.append(strikes[fault](hosting, rig, cut, prompt))
            finally:
                hosting.close()
    return firmware, trials


@contextmanager
def _bench(config: RigConfig) -> Iterator[tuple[RigConfig, Callable[[], None] | None]]:
    """Yield the rig, and what cuts its cable without a person; a simulator is served on a serial line."""
    if config.world is None or not config.spawn:
        yield config, None
        return
    with ExitStack() as stack:
        own = stack.enter_context(ExitStack())
        served = ServedSimulator(config.world, serial="pty", truth=False)
        path = own.enter_context(simulator_process(served))
        yield config.model_copy(update={"url": f"serial://{path}", "spawn": False}), own.close


def _kill(host: _Host, rig: RigConfig, cut: object, prompt: object) -> Trial:
    watchdog = host.ready["watchdog_ms"] or 0.0
    if not host.kept:
        expected = f"stopped within {watchdog / 1e3 + 1:g} s by its own watchdog"
        return _seen_from_beside(host, rig, expected, watchdog / 1e3 + 1.0)
    expected = f"stopped within {STOP_SECONDS:g} s by the rig process, and confirmed"
    # Reaped first: until its end shows, the rig process turns the next host away.
    host.close()
    with ExitStack() as stack:
        try:
            late = (link := open_rig_link(rig, stack, ProcessMonitor())).late_stop
        except LinkError as error:
            return Trial("host killed", expected, str(error), False)
        client = RigClient(link)
        with suppress(LinkError):
            client.open()
        client.close()
    if late is None:
        return Trial("host killed", expected, "the rig process left no word of its stop", False)
    good = late["outcome"] == "confirmed" and late["seconds"] <= STOP_SECONDS
    return Trial("host killed", expected, f"{late['outcome']} after {late['seconds'] * 1e3:.0f} ms", good)


def _seen_from_beside(host: _Host, rig: RigConfig, expected: str, limit: float) -> Trial:
    """A rig on a broker: another host looks on, and sees when it is stopped."""
    stopped = threading.Event()
    with ExitStack() as stack:
        client = RigClient(
            open_rig_link(rig, stack, ProcessMonitor()),
            on_status=lambda status: stopped.set() if status.state == "estop" else None,
        )
        try:
            client.open(claim=False)
            stopped.clear()
            host.send(signal.SIGKILL)
            began = time.monotonic()
            seen = stopped.wait(limit + FAR_SECONDS)
            seconds = time.monotonic() - began
        finally:
            client.close(safe=False)
    if not seen:
        return Trial("host killed", expected, f"not stopped within {limit + FAR_SECONDS:g} s", False)
    return Trial("host killed", expected, f"stopped after {seconds * 1e3:.0f} ms", seconds <= limit)


def _suspend(host: _Host, rig: RigConfig, cut: object, prompt: object) -> Trial:
    expected = f"stopped within {STOP_SECONDS:g} s of waking, and confirmed"
    host.send(signal.SIGSTOP, keeper=True)
    time.sleep(SUSPEND_SECONDS)
    woken = time.monotonic()
    host.send(signal.SIGCONT, keeper=True)
    found = host.wait(FAR_SECONDS, "stop by the rig process", "stop")
    if not found:
        return Trial("suspended", expected, f"no stop within {FAR_SECONDS:g} s of waking", False)
    seconds = found["at"] - woken
    good = found["stop"] == "confirmed" and seconds <= STOP_SECONDS
    return Trial("suspended", expected, f"{found['stop']} {seconds * 1e3:.0f} ms after waking", good)


def _cut(host: _Host, rig: RigConfig, cut: Callable[[], None] | None, prompt: Callable[[str], None]) -> Trial:
    began = time.monotonic()
    if cut is None:
        prompt(f"Pull the cable of {rig.name} now.")
    else:
        cut()
    lost = host.wait(NOTICE_SECONDS if cut else PERSON_SECONDS, "link lost")
    if not lost:
        return Trial("cable out", "noticed", "the loss was not noticed", False)
    if cut is not None:
        seconds = lost["at"] - began
        expected = f"noticed within {NOTICE_SECONDS:g} s"
        return Trial(
            "cable out", expected, f"noticed after {seconds * 1e3:.0f} ms", seconds <= NOTICE_SECONDS
        )
    expected = f"once it is back, stopped within {STOP_SECONDS:g} s and confirmed"
    prompt("Put the cable back in.")
    stop = host.wait(PERSON_SECONDS, "stop")
    if not stop:
        return Trial("cable out", expected, "it did not come back", False)
    good = stop["stop"] == "confirmed" and stop["seconds"] <= STOP_SECONDS
    return Trial("cable out", expected, f"{stop['stop']} after {stop['seconds'] * 1e3:.0f} ms", good)


def page(rig: str, firmware: str, trials: Sequence[Trial], on: date) -> str:
    """Return the page to sign: Markdown, at most 80 columns wide."""
    lines = [
        f"# Stops of rig {rig}",
        "",
        f"- firmware: {firmware}",
        f"- date: {on.isoformat()}",
        "- nothing was called: what moved, moved by hand or by a program of its own",
        "",
    ]
    for trial in trials:
        lines += [
            f"## {trial.fault}: {'pass' if trial.passed else 'FAIL'}",
            "",
            f"- expected: {trial.expected}",
            *wrap(f"- measured: {trial.measured}", 78, subsequent_indent="  "),
            "- seen by eye, at the machine: ______________________________",
            "",
        ]
    lines += ["Name: ____________________   Signature: ____________________   Date: __________", ""]
    return "\n".join(lines)
