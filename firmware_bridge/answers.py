"""A device's answers as outcomes, and faults of the link as outcomes of the same kind."""

from __future__ import annotations

from devices.outcome import Outcome
from firmware_bridge import messages as wire

STATUSES = ("ok", "rejected", "invalid", "fault")


def fault(code: str, message: str) -> Outcome:
    """Trouble of the link as the outcome of a call."""
    return Outcome("fault", code=code, message=message)


def outcome_of(result: wire.Result) -> Outcome:
    """What a device answered; an unknown status is a fault, code `protocol`."""
    error = result.error or wire.ResultError()
    value = result.value
    if value is not None and not isinstance(value, dict):
        value = {"value": value}
    status, code, message = result.status, error.code or None, error.message or None
    if status not in STATUSES:
        status, code, message = "fault", "protocol", f"the rig answered with the unknown status {status!r}"
    elif status != "ok":
        code, message = code or status, message or f"the rig gave no reason for {status}"
    return Outcome(status, value, code, message, result.t or 0.0, result.dur or 0.0)
