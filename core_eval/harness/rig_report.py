"""The report of a rig's self-test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Verdict = Literal["ok", "failed", "skipped"]
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
        facts: state, device, firmware, watchdog_ms, round_trip_s, clock_offset_s, clock_drift; None or
            absent if unknown.
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
