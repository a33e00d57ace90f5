"""Bugs, put back one at a time: those of the project's past, and each safeguard of the bridge taken out.

Each is a patch of the product's code as it stands. `origin` is the commit that mended it, or empty for a
safeguard that was there from the first version on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from core_eval.rig.session import RigSession
from devices.outcome import StopOutcome
from devices.rig_motion import Event
from firmware_bridge import endpoint as endpoint_module
from firmware_bridge.boots import Boots
from firmware_bridge.client import RigClient
from firmware_bridge.device_messages import refusal
from firmware_bridge.emergency_stop import EmergencyStop
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.link import LinkError
from firmware_bridge.link_clock import LinkClock
from firmware_bridge.mqtt.link import MqttLink
from firmware_bridge.probe import Probe
from firmware_bridge.result_cache import ResultCache, make_answer
from firmware_bridge.rig_process import rig_side
from firmware_bridge.rig_process.link import RigProcessLink
from firmware_bridge.rig_process.protocol import STRIKE, HostWatch, Kind, frame
from firmware_bridge.rig_process.rig_side import RigSide
from firmware_bridge.serial.link import SerialLink
from firmware_bridge.serial.port import SerialPort
from simulated_bridge.scheduler import last_line

Patches = list[tuple[Any, str, Any]]


@dataclass(frozen=True)
class Bug:
    """A bug.

    Attributes:
        name: in a few words.
        origin: the commit that mended it.
        seed: the first seed that found it; None: none has yet.
        patches: owner, name and the wrong thing in its place.
    """

    name: str
    origin: str
    seed: int | None
    patches: Callable[[], Patches]

    @contextmanager
    def put_back(self) -> Iterator[Planted]:
        """Have it within this block, and tell what became of its patches."""
        planted, patches = Planted(), self.patches()
        kept = [(owner, name, owner.__dict__[name]) for owner, name, _ in patches]
        for owner, name, wrong in patches:
            setattr(owner, name, planted.watched(wrong))
        try:
            yield planted
        finally:
            for owner, name, right in kept:
                setattr(owner, name, right)


class Planted:
    """What became of a bug's patches.

    Attributes:
        reached: whether one was called.
        error: how one failed by itself, which says nothing of the bug; empty: none did.
    """

    def __init__(self) -> None:
        self.reached = False
        self.error = ""

    def watched(self, wrong: Any) -> Any:
        """Return a patch whose calls are noted here."""
        if isinstance(wrong, property):
            return property(self.watched(wrong.fget))

        def call(*args: Any, **named: Any) -> Any:
            self.reached = True
            try:
                return wrong(*args, **named)
            except (TypeError, AttributeError, NameError) as error:
                self.error = self.error or f"{wrong.__name__}: {last_line(error)}"
                raise

        return call


BUGS: list[Bug] = []


def bug(
    name: str, origin: str = "", seed: int | None = None
) -> Callable[[Callable[[], Patches]], Callable[[], Patches]]:
    """Add a bug."""

    def add(patches: Callable[[], Patches]) -> Callable[[], Patches]:
        BUGS.append(Bug(name, origin, seed, patches))
        return patches

    return add


@bug("a stop that a lost link swallowed counts as confirmed", "4172a9da", seed=33)
def _swallowed() -> Patches:
    right = EmergencyStop.stop

    def stop(self: EmergencyStop, timeout: float) -> StopOutcome:
        outcome = right(self, timeout)
        return StopOutcome.CONFIRMED if outcome is StopOutcome.NOT_SENT else outcome

    return [(EmergencyStop, "stop", stop)]


@bug("the rig process tells of its strike when it is over", "836c1b9d", seed=245)
def _told_late() -> Patches:
    def strike_now(self: RigSide) -> None:
        rig_side.strike(self._link, STRIKE, self._clock)
        self._send(frame(Kind.STRUCK))

    return [(RigSide, "strike_now", strike_now)]


@bug("a device's reset is noticed by nothing", "482518a6", seed=58)
def _reset_unnoticed() -> Patches:
    right = LinkClock.update

    def update(self: LinkClock, *reading: float, **how: bool) -> None:
        restarts = self.restarts
        right(self, *reading, **how)
        self.restarts, self.doubtful = restarts, False

    return [(Boots, "take", lambda self, status, retained: False), (LinkClock, "update", update)]


@bug("a successor waits for its host before it stops the rig", "bc06f3af", seed=215)
def _no_first_stop() -> Patches:
    right = SerialLink.__init__

    def init(self: SerialLink, url: str, *, stop_first: bool = False) -> None:
        right(self, url)

    def replace(self: RigProcessLink) -> None:
        with self._replacing:
            if self._alive or self._ending:
                return
            self._process.kill()
            self._process.wait()
            self._socket.close()
            self._errors.close()
            self._start()
        if self._on_state is not None and self._up:
            self._on_state(True)

    return [(SerialLink, "__init__", init), (RigProcessLink, "_replace", replace)]


@bug("results are not kept by id", seed=34)
def _forgets() -> Patches:
    return [(ResultCache, "get", lambda self, message_id: None)]


@bug("refusals are not kept by id", seed=401)
def _forgets_refusals() -> Patches:
    right = ResultCache.keep

    def keep(self: ResultCache, message_id: Any, outcome: Any) -> Any:
        if outcome.code in ("estop", "busy", "late"):
            return make_answer(message_id, outcome)
        return right(self, message_id, outcome)

    return [(ResultCache, "keep", keep)]


@bug("a call is sent again without asking whether the device was reset", seed=12)
def _sends_again() -> Patches:
    return [
        (Probe, "measure", lambda self, timeout: True),
        (Boots, "take", lambda self, status, retained: False),
    ]


@bug("a call goes out without its latest moment, as a ping is not answered", "055fccdb", seed=436)
def _no_latest_moment() -> Patches:
    right = Probe.measure

    def measure(self: Probe, timeout: float) -> bool:
        # Before the first sending alone; behind this frame is the one that watches the patch.
        return right(self, timeout) or sys._getframe(2).f_locals.get("payload") == b""

    return [(Probe, "measure", measure)]


@bug("a call that comes too late is run", seed=189)
def _late() -> Patches:
    def judge(message: Any, busy: bool, stopped: bool, held: Any, link_ms: int, t: float, boot: str) -> Any:
        return refusal(message, busy, stopped, held, 0, t, boot)

    return [(endpoint_module, "refusal", judge)]


@bug("a call of before a reset is run by the next boot", seed=931)
def _any_boot() -> Patches:
    def judge(message: Any, busy: bool, stopped: bool, held: Any, link_ms: int, t: float, boot: str) -> Any:
        return refusal(message, busy, stopped, held, link_ms, t)

    return [(endpoint_module, "refusal", judge)]


@bug("a late pong of before a reset measures the clock", seed=52)
def _any_pong() -> Patches:
    return [(Boots, "is_another", lambda self, message: False)]


@bug("a late status of before a stop confirms it", seed=2680)
def _late_status() -> Patches:
    return [(LinkClock, "latest_ms", lambda self, host_time: None)]


def _sends_in_a_stop(self: RigSession, tool: str, arguments: Any, call_id: str, **how: Any) -> Any:
    return self.client.call(tool, arguments, call_id=call_id, timeout=self.call_timeout, within=how["within"])


@bug("a host sends calls to a rig that it has stopped, and that was reset since", "c4e71b39", seed=4)
def _sends_calls() -> Patches:
    return [(RigSession, "call", _sends_in_a_stop)]


@bug("a stopped device takes calls", seed=4)
def _takes_calls() -> Patches:
    def judge(message: Any, busy: bool, stopped: bool, held: Any, link_ms: int, t: float, boot: str) -> Any:
        return refusal(message, busy, False, held, link_ms, t, boot)

    return [(endpoint_module, "refusal", judge), (RigSession, "call", _sends_in_a_stop)]


@bug("a reset leaves the stop while the stopped call still ends", seed=91)
def _reset_early() -> Patches:
    def reset(self: DeviceEndpoint) -> None:
        with self._lock:
            self._stopped = False
            self._running = None
        self._publish_status()

    return [(DeviceEndpoint, "_reset", reset)]


@bug("the device says that it is stopped before it stands", seed=2)
def _says_early() -> Patches:
    def go_safe(self: DeviceEndpoint, publish: bool = True) -> None:
        with self._lock:
            self._stopped, self._reset_waits = True, False
            if self._running is not None:
                self._running.stop.set()
        self._publish_status()
        with self._safety:
            self._device_safe()

    return [(DeviceEndpoint, "_go_safe", go_safe)]


@bug("the watchdog of the device never strikes", seed=40)
def _no_watchdog() -> Patches:
    def tick(self: DeviceEndpoint) -> None:
        while not self._clock.wait(self._closed, 0.05):
            with self._lock:
                job = self._running
            if job is not None and self._clock.now() >= job.next_ack:
                job.next_ack = self._clock.now() + 1.0
                self._send(endpoint_module.wire.Ack(id=job.message.id, eta=2.0))

    return [(DeviceEndpoint, "_tick", tick)]


@bug("the rig process does not stop the rig when its host is gone", seed=167)
def _no_strike() -> Patches:
    return [(rig_side, "strike", lambda link, moments, clock: True)]


@bug("the rig process does not stop the rig when its host is silent", seed=356)
def _no_silence() -> Patches:
    right = HostWatch.strikes

    def strikes(self: HostWatch) -> bool:
        right(self)
        return False

    return [(HostWatch, "strikes", strikes)]


@bug("a host that stood still takes the answer for good", seed=2)
def _not_frozen() -> Patches:
    def call(self: RigClient, tool: str, arguments: Any, **options: Any) -> Any:
        self.rig.on(Event.DRIVE)
        message = endpoint_module.wire.Call.model_construct(
            id=options["call_id"], tool=tool, args=dict(arguments)
        )
        return self._requests.run(message, options["timeout"], options["within"])

    return [(RigClient, "call", call)]


@bug("a stop that a lost port owes is forgotten", seed=221)
def _owed() -> Patches:
    return [(SerialLink, "stop_owed", property(lambda self: False))]


@bug("the rig process tells the next host that its stop was confirmed", seed=3)
def _late_stop() -> Patches:
    right = RigSide._greet

    def greet(self: RigSide, late_stop: Any) -> None:
        right(self, None if late_stop is None else {**late_stop, "outcome": "confirmed"})

    return [(RigSide, "_greet", greet)]


@bug("a stop over a lost broker is not sent once it is back", seed=2100)
def _broker_forgets() -> Patches:
    return [(MqttLink, "_stop_again", lambda self, status: None)]


@bug("a host that stood still sends its stop once", "20818c77", seed=506)
def _frozen_once() -> Patches:
    def frozen(self: RigClient, seconds: float) -> None:
        self.rig.on(Event.HALT)
        with suppress(LinkError):
            self._link.stop()
        if self._on_freeze is not None:
            self._on_freeze(seconds)

    return [(RigClient, "_frozen", frozen)]


@bug("frames that began before a stop are taken after it", seed=56)
def _before_stop() -> Patches:
    def take(self: SerialPort, data: bytes) -> None:
        assert self._handler is not None
        if b"\x18" in data:
            self._handler.on_stop()
        for payload in self._decoder.feed(data.replace(b"\x18", b"")):
            self._handler.on_frame(payload)

    return [(SerialPort, "_take", take)]


@bug("a result is logged as ok whatever it was", seed=11)
def _always_ok() -> Patches:
    from firmware_bridge import requests

    right = requests.outcome_of

    def outcome_of(result: Any) -> Any:
        if result.status == "fault":
            result = result.model_copy(update={"status": "ok", "error": None, "value": {"x": 0.0}})
        return right(result)

    return [(requests, "outcome_of", outcome_of)]
