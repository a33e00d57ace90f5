"""Results and errors of the link as outcomes."""

from __future__ import annotations

from core_eval.path.calls import CallStatus
from devices.outcome import Outcome
from firmware_bridge import messages as wire

STATUSES = frozenset(CallStatus) - {CallStatus.BLOCKED}
"""The statuses of a device's results; only the host's guard blocks."""


def fault(code: str, message: str) -> Outcome:
    """Return an error of the link as the outcome of a call."""
    return Outcome(CallStatus.FAULT, code=code, message=message)


def outcome_of(result: wire.Result) -> Outcome:
    """Return the outcome in a result; an unknown status is a fault, code `protocol`."""
    error = result.error or wire.ResultError()
    value = result.value
    if value is not None and not isinstance(value, dict):
        value = {"value": value}
    code, message = error.code or None, error.message or None
    if result.status not in STATUSES:
        status, code = CallStatus.FAULT, "protocol"
        message = f"the rig answered with the unknown status {result.status!r}"
    else:
        status = CallStatus(result.status)
        if status != CallStatus.OK:
            code, message = code or status, message or f"the rig gave no reason for {status}"
    return Outcome(status, value, code, message, result.t or 0.0, result.dur or 0.0, result.guard)
