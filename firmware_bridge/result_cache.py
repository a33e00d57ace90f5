"""A device's results by id, so that a repeated call is answered and not run again."""

from __future__ import annotations

import threading
from collections import OrderedDict

from core_eval.call_status import CallStatus
from devices.outcome import Outcome
from firmware_bridge import messages as wire
from firmware_bridge.codec import encode
from firmware_bridge.lines import HOST_MAX_FRAME

Answer = tuple[wire.Result, bytes]
"""A result and its JSON."""

MIN_KEPT = 32
"""The minimum of the wire."""


class ResultCache:
    """The last `kept` results. Methods may be called from any thread."""

    def __init__(self, kept: int) -> None:
        if kept < MIN_KEPT:
            raise ValueError(f"a device keeps at least {MIN_KEPT} results, not {kept}")
        self._kept = kept
        self._answers: OrderedDict[wire.MessageId, Answer] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, message_id: wire.MessageId) -> Answer | None:
        """Return the stored result of an id."""
        # Atomic in the interpreter: no lock needed.
        return self._answers.get(message_id)

    def keep(self, message_id: wire.MessageId, outcome: Outcome) -> Answer:
        """Store an outcome and return it as a result."""
        answer = make_answer(message_id, outcome)
        with self._lock:
            self._answers[message_id] = answer
            if len(self._answers) > self._kept:
                self._answers.popitem(last=False)
        return answer


def make_answer(message_id: wire.MessageId, outcome: Outcome) -> Answer:
    """Return an outcome as a result; a value without JSON, or too long for a host, becomes a fault."""
    error = None
    if outcome.code is not None or outcome.message is not None:
        error = wire.ResultError(code=outcome.code or outcome.status, message=outcome.message or "")
    try:
        result = wire.Result(
            id=message_id,
            status=outcome.status,
            value=None if outcome.value is None else dict(outcome.value),
            error=error,
            t=outcome.t,
            dur=outcome.duration,
        )
        payload = encode(result)
        if len(payload) <= HOST_MAX_FRAME - 10:
            return result, payload
        reason = f"its result has {len(payload)} bytes, more than a host takes"
    except (ValueError, TypeError) as error_in_value:
        reason = f"its result has no JSON: {error_in_value}"
    return make_answer(
        message_id, Outcome(CallStatus.FAULT, code="internal", message=f"the call ended, but {reason[:200]}")
    )
