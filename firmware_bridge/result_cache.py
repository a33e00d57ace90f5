"""The answers that a device has given, by id, so that a repeated call is answered and not run again."""

from __future__ import annotations

import threading
from collections import OrderedDict

from core_eval.path.calls import CallStatus
from devices.outcome import Outcome
from firmware_bridge import messages as wire
from firmware_bridge.codec import HOST_MAX_FRAME, encode

Answer = tuple[wire.Result, bytes]
"""A result and its JSON."""

MIN_KEPT = 32
"""What the wire asks for."""


class ResultCache:
    """The last `kept` answers. Its methods may be called from any thread."""

    def __init__(self, kept: int) -> None:
        if kept < MIN_KEPT:
            raise ValueError(f"a device keeps at least {MIN_KEPT} results, not {kept}")
        self._kept = kept
        self._answers: OrderedDict[wire.MessageId, Answer] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, message_id: wire.MessageId) -> Answer | None:
        """The answer that this id was given."""
        # One step for the interpreter: no lock needed.
        return self._answers.get(message_id)

    def keep(self, message_id: wire.MessageId, outcome: Outcome) -> Answer:
        """The outcome as an answer, kept."""
        answer = make_answer(message_id, outcome)
        with self._lock:
            self._answers[message_id] = answer
            if len(self._answers) > self._kept:
                self._answers.popitem(last=False)
        return answer


def make_answer(message_id: wire.MessageId, outcome: Outcome) -> Answer:
    """The outcome on the wire; a value that has no JSON, or is too long for any host, becomes a fault."""
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
