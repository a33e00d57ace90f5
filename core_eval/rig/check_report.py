"""The report of a rig's self-test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from firmware_bridge.link import Link

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
        facts: state, device, firmware, watchdog_ms (the board's own), keeper, unattended, round_trip_s,
            clock_offset_s, clock_drift; None or absent if unknown.
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
