"""Serves a device until a signal ends the process."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from queue import SimpleQueue
from types import FrameType
from typing import Protocol

from devices.device import Device
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.link import LinkError, Port
from firmware_bridge.local.link import port_for
from firmware_bridge.process_keeper import watch_parent
from firmware_bridge.stop_input import StopInput


class Presses(Protocol):
    """What can be pressed and released."""

    def press(self) -> None:
        """Press it."""

    def release(self) -> None:
        """Release it."""


def serve_mqtt(
    device: Device,
    url: str,
    rig: str = "",
    *,
    watchdog_ms: int = 5000,
    ready: Callable[[], None] = lambda: None,
    exit_with_parent: bool = False,
    stop_input: StopInput | None = None,
) -> None:
    """Serve the device as `rig` at the broker of `url` until SIGTERM, SIGINT or SIGHUP.

    The device ends safe and offline. Must run on the main thread. `ready` is called once the device accepts
    calls. With `exit_with_parent` the end of the parent process has the effect of a signal. SIGUSR1 presses
    a `stop_input`, SIGUSR2 releases it.

    Raises:
        LinkError: the broker cannot be reached, or refuses us, or another device answers as `rig`.
    """
    from firmware_bridge.mqtt.link import MqttPort

    with end_signals() as wait_for_end:
        port = MqttPort(url, rig, on_conflict=lambda _: wait_for_end.now())
        _serve(device, port, watchdog_ms, ready, exit_with_parent, wait_for_end, stop_input)
        if port.conflict is not None:
            raise LinkError(port.conflict)


def serve_serial(
    device: Device,
    path: str,
    *,
    watchdog_ms: int = 5000,
    ready: Callable[[str], None] = lambda path: None,
    exit_with_parent: bool = False,
    stop_input: StopInput | None = None,
) -> None:
    """Serve the device on the port `path`, or on a pseudo terminal (`pty`), until a signal.

    `ready` receives the path that a host opens; else as `serve_mqtt`.

    Raises:
        LinkError: the port cannot be opened.
    """
    from firmware_bridge.serial.port import SerialPort

    port = SerialPort(path)
    with end_signals() as wait_for_end:
        _serve(
            device, port, watchdog_ms, lambda: ready(port.path), exit_with_parent, wait_for_end, stop_input
        )


def _serve(
    device: Device,
    port: Port,
    watchdog_ms: int,
    ready: Callable[[], None],
    exit_with_parent: bool,
    wait_for_end: EndSignal,
    stop_input: StopInput | None,
) -> None:
    if exit_with_parent:
        watch_parent(wait_for_end.now)
    endpoint = DeviceEndpoint(device, port_for(device, port), watchdog_ms=watchdog_ms, stop_input=stop_input)
    with nullcontext() if stop_input is None else press_signals(stop_input), endpoint:
        ready()
        wait_for_end()


@contextmanager
def press_signals(button: Presses) -> Iterator[None]:
    """Press the stop input on SIGUSR1 and release it on SIGUSR2, on a thread of its own."""
    waiting: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def act() -> None:
        while (press := waiting.get()) is not None:
            press()

    numbers = {signal.SIGUSR1: button.press, signal.SIGUSR2: button.release}
    thread = threading.Thread(target=act, name="stop input", daemon=True)
    thread.start()
    # SimpleQueue.put may be called while this thread is in it: it is reentrant.
    before = {
        number: signal.signal(number, lambda number, _: waiting.put(numbers[signal.Signals(number)]))
        for number in numbers
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        waiting.put(None)
        thread.join()


class EndSignal:
    """An event that a signal handler may set: a pipe, as a lock could be held already."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def __call__(self) -> None:
        """Wait for the event."""
        select.select([self._read], [], [])

    def now(self) -> None:
        """Set the event."""
        os.write(self._write, b"e")


@contextmanager
def end_signals() -> Iterator[EndSignal]:
    """Set the yielded event on SIGTERM, SIGINT and a closed terminal."""
    end = EndSignal()

    def handle(_signal: int, _frame: FrameType | None) -> None:
        end.now()

    numbers = [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield end
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
