"""The self-test of a rig: link, lock, clock, tools, sensors, stop and reset. Nothing moves.

Only read tools are called. The stop is tested unless another host drives the rig. The rig is left in the
state (online, or stopped) in which it was found.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from configs.errors import ConfigError
from configs.rig_config import RigConfig, check_envelope, device_of
from core_eval.call_status import CallStatus
from core_eval.rig.opening import open_rig
from core_eval.rig.session import RigSession
from core_eval.rig.signals import RigError
from devices.device_type import DeviceType
from devices.outcome import Outcome, StopOutcome
from devices.registry import DEVICE_TYPES, shipped_tools
from devices.tool import Effect, Tool
from firmware_bridge.codec import encode
from firmware_bridge.link import Link, LinkError
from firmware_bridge.messages import Estop, Ping

LOOK_SECONDS = 1.0
CALL_SECONDS = 3.0
STOP_SECONDS = 2.0
TOTAL_SECONDS = 30.0
MOST_DRIFT = 0.01
"""Seconds per second: a deadline a minute ahead would be 0.6 s off."""
UNKNOWN_TOOL = "no_such_tool_of_any_rig"


def check_rig(config: RigConfig, *, only_look: bool = False) -> RigReport:
    """Test a rig; with `only_look` no tool is called and the rig is not stopped.

    Takes up to half a minute, and up to a minute more if a dead host's lease must expire first.
    """
    report = RigReport(config.name)
    began = time.monotonic()
    try:
        with open_rig(config, only_look=True) as session:
            report.add("link", True, f"open and answering after {time.monotonic() - began:.2f} s")
            _Check(report, session, began + TOTAL_SECONDS).run(only_look)
    except (RigError, LinkError) as error:
        report.add("link", False, str(error).removeprefix(f"rig {config.name}: "))
        if _brokered(config):
            _publishing(report, config, "call", encode(Ping()))
    return report


class _Check:
    def __init__(self, report: RigReport, session: RigSession, deadline: float) -> None:
        self._report = report
        self._session = session
        self._client = session.client
        self._deadline = deadline
        self._wanted = None if session.config.device is None else device_of(session.config)
        stated = session.device_name
        self._device: DeviceType | None = self._wanted if stated is None else DEVICE_TYPES.get(stated)
        if self._wanted is not None and stated == self._wanted.name:
            self._device = self._wanted
        status = self._client.status
        self._found_stopped = status is not None and status.state == "estop"

    def run(self, only_look: bool) -> None:
        self._status()
        heard = self._clock()
        driving = False if only_look else self._lock()
        if only_look:
            self._report.add("tools", "skipped", "not called with --look")
        elif not driving:
            for check in ("tools", "once", "deadline", "stop", "reset"):
                self._report.add(check, "skipped", "another host drives the rig")
        else:
            self._permissions()
            self._tools_and_stop(heard)
        self._sensors()
        if self._client.peer.conflict is not None:
            self._report.add("name", False, self._client.peer.conflict)

    def _status(self) -> None:
        status = self._client.status
        assert status is not None, "the rig answered"
        device = status.device
        wanted = None if self._wanted is None else self._wanted.name
        self._report.facts |= {
            "state": status.state,
            "device": device,
            "firmware": status.fw,
            "watchdog_ms": status.watchdog_ms,
            "max_frame": status.max_frame,
        }
        text = f"{status.state}, device {device or 'not stated'}, firmware {status.fw or 'not stated'}"
        if device in DEVICE_TYPES and wanted is not None and device != wanted:
            self._report.add("status", False, f"{text}; but the rig's file has device {wanted}")
        else:
            self._report.add("status", True, text)
        if self._device is not None:
            try:
                check_envelope(self._session.config.envelope, self._device)
            except ConfigError as error:
                self._report.add("envelope", False, str(error))
            self._report.add("safe tools", True, _safe_tools(self._device))
        if status.stop_input is not None or self._session.config.stop_input:
            self._report.add(
                "stop input", status.stop_input == "released", status.stop_input or "none told of"
            )
        add_stops(self._report, self._session.link, status.watchdog_ms)

    def _clock(self) -> bool:
        readings = []
        trips: list[float] = []
        began = time.monotonic()
        try:
            while time.monotonic() - began < LOOK_SECONDS:
                sent = time.monotonic()
                reading = self._client.read_clock()
                trips.append(time.monotonic() - sent if reading is None else reading.round_trip)
                readings += [] if reading is None else [reading]
                time.sleep(LOOK_SECONDS / 20)
        except LinkError as error:
            hint = "; check the read access to its result topic" if _brokered(self._session.config) else ""
            self._report.add("ping", False, f"{error}{hint}")
            return False
        trips.sort()
        middle = trips[len(trips) // 2]
        self._report.facts["round_trip_s"] = middle
        self._report.add("ping", True, ping_text(trips, brokered=_brokered(self._session.config)))
        if len(readings) < 2:
            self._report.add("clock", False, "pong states no time, so calls can have no deadline")
            return True
        half = len(readings) // 2
        first = min(readings[:half], key=lambda reading: reading.round_trip)
        last = min(readings[half:], key=lambda reading: reading.round_trip)
        drift = (last.offset - first.offset) / (last.at - first.at)
        # The device's clock resolves 1 ms, and the pong's instant within its round trip is unknown.
        doubt = (0.001 + first.round_trip / 2 + last.round_trip / 2) / (last.at - first.at)
        self._report.facts |= {"clock_offset_s": last.offset, "clock_drift": drift}
        good = abs(drift) - doubt < MOST_DRIFT
        self._report.add(
            "clock", good, f"offset {last.offset:+.3f} s, drift {drift * 1e6:+.0f} ppm "
            f"(±{doubt * 1e6:.0f} ppm in {LOOK_SECONDS:g} s)"
        )  # fmt: skip

        return True

    def _lock(self) -> bool:
        began = time.monotonic()
        try:
            kept = self._client.claim()
        except LinkError as error:
            self._report.add("lock", "skipped", str(error))
            return False
        self._deadline += time.monotonic() - began
        if kept:
            self._report.add("lock", True, "free, acquired for this check")
        else:
            self._report.add(
                "lock", False, "the broker keeps no lease: check the write access to the lease topic"
            )
        return True

    def _permissions(self) -> None:
        config = self._session.config
        if _brokered(config):
            _publishing(self._report, config, "call", encode(Ping()))
            if not _publishing(self._report, config, "estop", encode(Estop())):
                return
            # The test message was a real stop.
            if not self._found_stopped:
                self._client.reset(STOP_SECONDS)

    def _tools_and_stop(self, heard: bool) -> None:
        read: Tool | None = None
        with self._link_trouble("tools"):
            if self._found_stopped:
                self._client.reset(STOP_SECONDS)
            if heard:
                read = self._tools()
            else:
                self._report.add("tools", "skipped", "answers do not reach this host")
            if read is not None:
                self._once(read)
                self._late(read)
        with self._link_trouble("stop"):
            self._stop(read)
        with self._link_trouble("reset"):
            self._reset(read)
        if self._found_stopped:
            with self._link_trouble("reset"):
                self._client.estop(STOP_SECONDS)

    def _tools(self) -> Tool | None:
        answered: list[Tool] = []
        faults: list[str] = []
        unfitted = 0
        reads = [] if self._device is None else [tool for tool in self._device.tools if needs_nothing(tool)]
        for tool in reads:
            if time.monotonic() > self._deadline - CALL_SECONDS:
                faults.append("no time was left for the others")
                break
            outcome = self._client.call(tool.name, {}, timeout=CALL_SECONDS)
            if (outcome.status, outcome.code) == (CallStatus.REJECTED, "not_fitted"):
                # Answered by a driver for a tool that the hardware lacks.
                unfitted += 1
                continue
            fault = _fault(tool, outcome)
            answered += [tool] if fault is None else []
            faults += [] if fault is None else [f"{tool.name}: {fault}"]
        outcome = self._client.call(UNKNOWN_TOOL, {}, timeout=CALL_SECONDS)
        if outcome.status != CallStatus.INVALID:
            faults.append(f"an unknown tool is answered with {outcome.status} instead of invalid")
        if self._device is None:
            self._report.add("tools", not faults, "; ".join(faults) or "unknown device type")
        else:
            untried = len(self._device.tools) - len(reads)
            text = f"{len(answered)} of {len(reads)} read tools answer; {untried} not called"
            text += f"; {unfitted} not fitted" if unfitted else ""
            self._report.add("tools", not faults, "; ".join([text, *faults]))
        return answered[0] if answered else None

    def _once(self, tool: Tool) -> None:
        call_id = f"check-{time.monotonic_ns():x}"
        first = self._client.call(tool.name, {}, call_id=call_id, timeout=CALL_SECONDS)
        second = self._client.call(tool.name, {}, call_id=call_id, timeout=CALL_SECONDS)
        text = "a repeated id is answered with the stored result"
        self._report.add("once", first == second, text if first == second else f"not so: {text}")

    def _late(self, tool: Tool) -> None:
        outcome = self._client.call_late(tool.name, {}, CALL_SECONDS)
        if outcome is None:
            self._report.add("deadline", "skipped", "the device's clock is not known")
        else:
            good = (outcome.status, outcome.code) == (CallStatus.FAULT, "late")
            answer = outcome.code or outcome.status
            self._report.add("deadline", good, f"a call after its deadline is answered with {answer}")

    def _stop(self, read: Tool | None) -> None:
        began = time.monotonic()
        stop = self._client.estop(STOP_SECONDS)
        self._report.facts["motion"] = str(self._client.rig.state)
        if stop.failed(self._client.confirms_stop):
            self._report.add("stop", False, f"{stop}, not confirmed: {self._client.stop_error}")
            return
        text = f"confirmed after {(time.monotonic() - began) * 1e3:.0f} ms"
        if stop is StopOutcome.SENT:
            text = "sent; this driver cannot confirm it"
        if read is not None:
            outcome = self._client.call(read.name, {}, timeout=CALL_SECONDS)
            if (outcome.status, outcome.code) != (CallStatus.REJECTED, "estop"):
                answer = outcome.code or outcome.status
                self._report.add("stop", False, f"{text}, but a call after it is answered with {answer}")
                return
        self._report.add("stop", True, f"{text}; calls are rejected after it" if read else text)

    def _reset(self, read: Tool | None) -> None:
        if not self._client.reset(STOP_SECONDS):
            self._report.add("reset", False, f"not confirmed within {STOP_SECONDS:g} s")
            return
        again = None if read is None else self._client.call(read.name, {}, timeout=CALL_SECONDS)
        good = again is None or again.status == CallStatus.OK
        self._report.add("reset", good, "calls are accepted again" if good else "calls are still rejected")

    def _sensors(self) -> None:
        samples = self._session.recorder.last_samples
        if not samples:
            self._report.add("sensors", "skipped", "no sample received")
            return
        shown = ", ".join(f"{name}={sample.value}" for name, sample in sorted(samples.items())[:6])
        more = f" and {len(samples) - 6} more" if len(samples) > 6 else ""
        rules = None if self._device is None else self._device.rules
        unknown = [] if rules is None else sorted(samples.keys() - rules.sensors.keys())
        why = f"; the device file has no sensor {', '.join(unknown)}" if unknown else ""
        self._report.add("sensors", not unknown, f"{len(samples)}: {shown}{more}{why}")

    @contextmanager
    def _link_trouble(self, check: str) -> Iterator[None]:
        try:
            yield
        except LinkError as error:
            self._report.add(check, False, str(error))


def _brokered(config: RigConfig) -> bool:
    kind = config.link_type
    return kind is not None and kind.may_publish is not None and not config.spawn and config.driver is None


def _publishing(report: RigReport, config: RigConfig, channel: str, payload: bytes) -> bool:
    kind = config.link_type
    assert kind is not None and kind.may_publish is not None
    may = kind.may_publish(config.url, channel, payload)
    if may is None:
        report.add(f"may write {channel}", "skipped", "needs a broker with MQTT 5")
    elif may:
        report.add(f"may write {channel}", True, "accepted by the broker")
    else:
        text = "refused by the broker's access list: add `topic write`, or use the host's account"
        report.add(f"may write {channel}", False, text)
    return bool(may)


def _safe_tools(device: DeviceType) -> str:
    ours = shipped_tools(device)
    texts = [
        ("the guard always sends", [tool.name for tool in ours if tool.towards_safe]),
        ("and as a retreat", [tool.name for tool in ours if tool.retreat]),
        (
            "not believed of its file without --safe-tool",
            [tool.name for tool in device.tools if tool.towards_safe and tool not in ours],
        ),
    ]
    return "; ".join(f"{text} {', '.join(names)}" for text, names in texts if names) or "none"


def needs_nothing(tool: Tool) -> bool:
    """Return whether a tool only reads, and can be called without arguments."""
    needed = any(one.is_required() for one in tool.arguments.model_fields.values())
    return tool.effect is Effect.READ and not needed


def _fault(tool: Tool, outcome: Outcome) -> str | None:
    if outcome.status != CallStatus.OK:
        return f"{outcome.status}, {outcome.message or outcome.code}"
    wrong = tool.misfits(outcome.value or {})
    return f"its result does not fit: {wrong[0]}" if wrong else None


Verdict = Literal["ok", "failed", "skipped", "none"]
"""`none`: the rig has no such protection."""
NOTHING = "nothing stops it"
DELAYED_ACK = 0.035
"""Seconds. Linux delays a TCP acknowledgement by 40 ms; a sender without TCP_NODELAY waits for it."""


@dataclass(frozen=True)
class Finding:
    """The result of one check, in one line."""

    check: str
    verdict: Verdict
    text: str


@dataclass
class RigReport:
    """All findings, and the rig's own data.

    Attributes:
        facts: state, device, firmware, watchdog_ms (the board's own), keeper, unattended, motion (after its
            stop), round_trip_s, clock_offset_s, clock_drift; None or absent if unknown.
    """

    rig: str
    findings: list[Finding] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def failed(self) -> list[Finding]:
        """The checks that failed."""
        return [finding for finding in self.findings if finding.verdict == "failed"]

    def add(self, check: str, verdict: Verdict | bool, text: str) -> None:
        """Append a finding."""
        if isinstance(verdict, bool):
            verdict = "ok" if verdict else "failed"
        self.findings.append(Finding(check, verdict, " ".join(text.split())))

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "rig": self.rig,
            "ok": not self.failed,
            **self.facts,
            "checks": [asdict(one) for one in self.findings],
        }


def add_stops(report: RigReport, link: Link, watchdog_ms: float | None) -> None:
    """Append who stops the rig without its host; `watchdog_ms` is that of the rig's status."""
    if link.stands_still_with_us:
        report.add("without host", True, "it runs in this program, and ends with it")
        return
    if link.status_source == "link":
        # The endpoint in front of foreign hardware is the host's, and so is its watchdog.
        watchdog_ms = None
        report.add("watchdog", "none", "the board has none that this host knows of")
    elif watchdog_ms is None:
        report.add("watchdog", False, "the status states no watchdog_ms")
    else:
        report.add("watchdog", True, f"the board's own: {watchdog_ms:g} ms")
    kept = link.keeper is not None
    if kept:
        report.add("keeper", True, "a second process stops it if the host dies, or is silent for 3 s")
    else:
        report.add("keeper", "none", "no second process stops it if the host dies")
    if link.stops_before_sleep:
        report.add("sleep", True, "logind has it stopped before this machine sleeps")
    elif kept:
        report.add("sleep", "none", "nothing stops it before this machine sleeps: no logind")
    texts = [] if watchdog_ms is None else [f"the board stops after {watchdog_ms:g} ms"]
    texts += [link.unattended] if link.unattended else []
    dead = "host and keeper die" if kept else "the host dies"
    report.add("without host", "ok" if texts else "none", f"if {dead}: {'; '.join(texts) or NOTHING}")
    report.facts |= {"watchdog_ms": watchdog_ms, "keeper": kept, "unattended": "; ".join(texts)}


def ping_text(round_trips: Sequence[float], *, brokered: bool) -> str:
    """Return a summary of sorted round trips, given in seconds."""
    middle = round_trips[len(round_trips) // 2]
    text = (
        f"{len(round_trips)} of {len(round_trips)}, median {middle * 1e3:.2f} ms, "
        f"longest {round_trips[-1] * 1e3:.2f} ms"
    )
    if brokered and middle > DELAYED_ACK:
        return f"{text}; set TCP_NODELAY at the broker (mosquitto.conf: set_tcp_nodelay true)"
    return text
