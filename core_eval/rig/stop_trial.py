"""The faults of `pathrig rigs check --kill --cut --suspend`: on the user's own bench, with times, to sign.

What the struck host learns comes back as lines; what the next host learns is read from the rig itself.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from textwrap import wrap

from configs.rig_config import RigConfig
from core_eval.rig.links import open_rig_link
from core_eval.rig.serve_simulator import ServedSimulator
from core_eval.rig.signals import RigError
from core_eval.rig.simulator_process import ProcessMonitor, simulator_process
from core_eval.rig.stop_host import NOTICE_SECONDS, STOP_SECONDS, StruckHost
from firmware_bridge.client import RigClient
from firmware_bridge.link import LinkError

FAR_SECONDS = 8.0
"""Longest time for a device's own watchdog, and for a machine's last stop."""
SUSPEND_SECONDS = 6.0
PERSON_SECONDS = 120.0


@dataclass(frozen=True)
class Trial:
    """One fault: what was expected, what was measured, and whether that passes."""

    fault: str
    expected: str
    measured: str
    passed: bool


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
            hosting = StruckHost(rig)
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


def _kill(host: StruckHost, rig: RigConfig, cut: object, prompt: object) -> Trial:
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


def _seen_from_beside(host: StruckHost, rig: RigConfig, expected: str, limit: float) -> Trial:
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


def _suspend(host: StruckHost, rig: RigConfig, cut: object, prompt: object) -> Trial:
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


def _cut(
    host: StruckHost, rig: RigConfig, cut: Callable[[], None] | None, prompt: Callable[[str], None]
) -> Trial:
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
