"""The rig process: serves a link to its host over a socket pair, and stops the rig once the host is gone."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from core_eval.text.foreign_json import ForeignJsonError, parse_json
from devices.outcome import StopOutcome
from devices.rig_motion import Event
from firmware_bridge.clock import BOOTTIME, Clock
from firmware_bridge.link import Link, LinkError, LinkGoneError, PortInUse, tell_through
from firmware_bridge.rig_process.deadman import PERIOD, UNATTENDED, Deadman
from firmware_bridge.rig_process.door import Door, door_name
from firmware_bridge.rig_process.protocol import (
    KEPT_SECONDS,
    LATE_STOP_SECONDS,
    LATE_STRIKE,
    STRIKE,
    Frames,
    HostWatch,
    Kind,
    done,
    frame,
    numbered,
)
from firmware_bridge.serial.ports import DRIVEN, STOPPING

RETRY_SECONDS = 0.25
"""Time between two attempts to open a lost wire once the host is gone."""
WORD_SECONDS = 0.01
"""Time between two looks, while a stop is repeated, whether the device has confirmed it."""
MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT = 1, 2, 4


class RigSide:
    """Serves an open link until the host is gone; `run` returns when the rig is stopped and the link closed.

    Once it has no host, the next run may become it: it is told how the stop went.

    Args:
        link: the open link to the rig.
        host: the socket to the host.
        clock: one that goes on while the machine is suspended.
        door: where the next host comes in.
        deadman: gets its heartbeat while this loop turns for a living host.
        successor: whether to stop the rig until that is confirmed: a line may lose a stop.
    """

    def __init__(
        self,
        link: Link,
        host: socket.socket,
        clock: Clock = BOOTTIME,
        door: Door | None = None,
        deadman: Deadman | None = None,
        *,
        successor: bool = False,
    ) -> None:
        self._successor = successor
        self._link, self._clock, self._door, self._deadman = link, clock, door, deadman
        self._sending = threading.Lock()
        self._begin(host)
        self._slow = threading.Lock()
        self._wake_r, self._wake_w = os.pipe()
        os.set_blocking(self._wake_w, False)
        self._closing = self._closed = False
        self._sleep_guarded = self._guards_sleep()

    def run(self) -> None:
        """Serve the host, and the next ones."""
        link = self._link
        self._greet(None)
        link.attach(self._pass_on, self._changed)
        if self._successor:
            self._aside(lambda: strike(link, LATE_STRIKE, self._clock))
        while True:
            if not link.connected:
                self._changed(False)
            while self._serve():
                pass
            name_process(STOPPING)
            if self._closed:
                return
            gone, began = time.time(), self._clock.now()
            if not self._closing:
                strike(link, STRIKE, self._clock)
            seconds = round(self._clock.now() - began, 4)
            host = self._stop_late()
            if host is None:
                break
            if not link.connected and not link.stop_owed:
                # It will not come back, as a pseudo terminal: the next run opens its own.
                host.close()
                break
            outcome = StopOutcome.NOT_SENT if link.stop_owed else link.rig.outcome
            name_process(DRIVEN)
            self._closing = False
            self._begin(host)
            self._greet({"time": gone, "outcome": str(outcome), "seconds": seconds})
        link.close()

    def _begin(self, host: socket.socket) -> None:
        self._watch = HostWatch(self._clock)
        self._frames = Frames()
        with self._sending:
            self._host = host
            self._waiting = bytearray()

    def _greet(self, late_stop: Mapping[str, Any] | None) -> None:
        link = self._link
        features = {
            "name": link.name,
            "default_max_frame": link.default_max_frame,
            "frame_overhead": link.frame_overhead,
            "boot_seconds": link.boot_seconds,
            "confirms_stop": link.confirms_stop,
            "status_source": link.status_source,
            "unattended": "; ".join(
                filter(None, (link.unattended, "" if self._deadman is None else UNATTENDED))
            ),
            "stops_before_sleep": self._sleep_guarded,
            "late_stop": late_stop,
            "up": link.connected,
        }
        self._send(frame(Kind.READY, json.dumps(features).encode()))

    def strike_now(self) -> None:
        """Stop the rig for a host that is silent, or will be."""
        # Told first: the host may be back before the last stop is out.
        self._send(frame(Kind.STRUCK))
        began = self._clock.now()
        strike(self._link, STRIKE, self._clock)
        how = {"stop": self._link.rig.outcome, "seconds": round(self._clock.now() - began, 4)}
        self._send(frame(Kind.STRUCK, json.dumps(how).encode()))

    def _guards_sleep(self) -> bool:
        try:
            from firmware_bridge.rig_process.sleep_guard import SleepGuard

            SleepGuard(self.strike_now)
        except (ImportError, OSError):
            return False
        return True

    def tell(self, line: str) -> None:
        """Have the host tell the person a line."""
        self._send(frame(Kind.TELL, line.encode()))

    def _serve(self) -> bool:
        """Handle what is due; return False when the host is gone, or has closed the link."""
        host = self._host.fileno()
        writers = [host] if self._waiting else []
        pause = self._watch.pause
        if self._deadman is not None:
            pause = min(pause, PERIOD)
            if self._watch.alive:
                self._deadman.beat()
        readable, writable, _ = select.select([host, self._wake_r], writers, [], pause)
        if self._wake_r in readable:
            os.read(self._wake_r, 4096)
        if writable:
            self._send(b"")
        if host in readable:
            try:
                data = self._host.recv(1 << 16)
            except OSError:
                return False
            if not data:
                return False
            self._watch.heard()
            for kind, body in self._frames.feed(data):
                self._take(kind, body)
                if self._closing:
                    return False
        if self._door is not None:
            self._door.turn_away(self._host)
        if self._watch.strikes():
            self._aside(self.strike_now)
        if self._watch.beats():
            self._send(frame(Kind.BEAT, str(self._link.dropped).encode()))
        return True

    def _take(self, kind: Kind, body: bytes) -> None:
        host = self._host
        match kind:
            case Kind.MESSAGE:
                self._link.rig.on(Event.DRIVE)
                with contextlib.suppress(LinkError):
                    self._link.send(body)
            case Kind.STOP:
                self._aside(lambda: self._answer(host, body, self._stop))
            case Kind.RESET:
                self._aside(lambda: self._in_turn(host, body, self._reset))
            case Kind.ENSURE:
                self._aside(lambda: self._in_turn(host, body, lambda rest: self._link.ensure(float(rest))))
            case Kind.DISCARD:
                self._link.discard()
            case Kind.CLOSE:
                self._closing = True
                late = LATE_STOP_SECONDS if self._link.stop_owed else 0.0
                if not late:
                    self._link.close()
                    self._closed = True
                self._send(done(numbered(body)[0], late=late))

    def _reset(self, payload: bytes) -> None:
        self._link.send(payload)
        self._link.rig.on(Event.RESET)

    def _stop(self, _: bytes) -> str | None:
        self._link.rig.on(Event.HALT)
        return self._link.stop()

    def _in_turn(self, host: socket.socket, body: bytes, act: Callable[[bytes], None]) -> None:
        with self._slow:
            self._answer(host, body, act)

    def _answer(self, host: socket.socket, body: bytes, act: Callable[[bytes], str | None]) -> None:
        number, rest = numbered(body)
        try:
            outcome = act(rest)
        except LinkError as error:
            self._send(done(number, error=str(error), gone=isinstance(error, LinkGoneError)), host)
        else:
            self._send(done(number, outcome=outcome), host)

    def _aside(self, act: Callable[[], object]) -> None:
        # The machine takes its time, and the host's next frame may be a stop.
        threading.Thread(target=act, daemon=True).start()

    def _pass_on(self, payload: bytes, _: bool) -> None:
        self._send(frame(Kind.MESSAGE, payload))
        # The word of a device that was stopped: it may have no host that reads it.
        if self._link.status_source == "device" and b'"estop"' in payload and says_stopped(payload):
            self._link.rig.on(Event.CONFIRMED)

    def _changed(self, up: bool) -> None:
        self._link.rig.on(Event.FIND if up else Event.LOSE)
        self._send(frame(Kind.UP) if up else frame(Kind.DOWN, self._link.why_down.encode()))

    def _send(self, data: bytes, host: socket.socket | None = None) -> None:
        """Send at once what the socket takes, and the rest when it takes more. Never blocks, never raises.

        What one host has asked for does not go to the next, whose requests have the same numbers.
        """
        with self._sending:
            if host not in (None, self._host):
                return
            self._waiting += data
            try:
                while self._waiting:
                    del self._waiting[: self._host.send(self._waiting, socket.MSG_DONTWAIT)]
            except BlockingIOError:
                with contextlib.suppress(BlockingIOError):
                    os.write(self._wake_w, b"w")
            except OSError:
                self._waiting.clear()

    def _stop_late(self) -> socket.socket | None:
        """Wait for a lost wire with a stop pending, and send it; return the next host once one comes."""
        deadline = self._clock.now() + LATE_STOP_SECONDS
        while self._link.stop_owed:
            if (host := self._next_host(0.0)) is not None:
                return host
            if self._clock.now() >= deadline:
                return None
            try:
                self._link.ensure(0.0)
                if strike(self._link, LATE_STRIKE, self._clock):
                    break
            except PortInUse:
                # Whoever has it drives the machine.
                return None
            except LinkError:
                pass
            if (host := self._next_host(RETRY_SECONDS)) is not None:
                return host
        return self._next_host(KEPT_SECONDS if self._door is not None and self._link.connected else 0.0)

    def _next_host(self, seconds: float) -> socket.socket | None:
        if self._door is not None:
            return self._door.wait(seconds)
        self._clock.sleep(seconds)
        return None


def strike(link: Link, moments: Iterable[float], clock: Clock) -> bool:
    """Send the stop at these moments, until it is confirmed; return whether it was sent. Never raises."""
    began = clock.now()
    if link.connected:
        link.rig.on(Event.FIND)
    link.rig.on(Event.HALT)
    for moment in moments:
        left = began + moment - clock.now()
        while left > 0 and link.rig.outcome is not StopOutcome.CONFIRMED:
            # A device's word may come meanwhile.
            clock.sleep(min(left, WORD_SECONDS))
            left = began + moment - clock.now()
        if link.rig.outcome is StopOutcome.CONFIRMED or not link.rig.halted:
            # A reset has left the stop.
            break
        with contextlib.suppress(LinkError):
            link.stop()
    return link.rig.sent


def says_stopped(payload: bytes) -> bool:
    """Whether a payload is a device's status that says it is stopped; the models take too long to import."""
    try:
        said = parse_json(payload)
    except ForeignJsonError:
        return False
    return (
        isinstance(said, dict)
        and (said.get("op"), said.get("state"), said.get("v", 1)) == ("status", "estop", 1)
        and said.get("stop") not in tuple(StopOutcome)
    )


def name_process(name: str) -> None:
    """Name this process, as `ps` and other runs see it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(name)


def stay_alive() -> None:
    """Keep this process from being swapped out, or killed for want of memory, where that is allowed."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("-1000")


def main(
    descriptor: int, opener: str, arguments: Mapping[str, Any], deadman: str | None, *, successor: bool
) -> None:
    """The process: `opener` is `module:function`, called with these arguments, and returns a link.

    A successor stops the rig before all else: the process before it has left it as it was.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        # The host alone ends this process, in order or by its own end.
        signal.signal(number, signal.SIG_IGN)
    name_process(DRIVEN)
    stay_alive()
    host = socket.socket(fileno=descriptor)

    def say(kind: Kind, line: str) -> None:
        # A host that is gone keeps nobody from stopping its rig.
        with contextlib.suppress(OSError):
            host.sendall(frame(kind, line.encode()))

    tell_through(lambda line: say(Kind.TELL, line))
    module, _, name = opener.partition(":")
    try:
        relay = None if deadman is None else Deadman(deadman, BOOTTIME)
        first = {"stop_first": True} if successor else {}
        link: Link = getattr(import_module(module), name)(**arguments, **first)
    except LinkError as error:
        say(Kind.REFUSED, str(error))
        return
    rig = RigSide(link, host, door=Door(door_name(opener, arguments)), deadman=relay, successor=successor)
    tell_through(rig.tell)
    rig.run()
    # A driver's own threads must not outlive the rig.
    os._exit(0)
