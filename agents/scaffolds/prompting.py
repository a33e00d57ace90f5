"""The words that every scaffold says to a model: the system prompt and how a call's outcome reads."""

from __future__ import annotations

import json

from core_eval.path.calls import CallStatus
from devices.outcome import Outcome

TASK = (
    "You operate a machine with tools. Do exactly what the user asks, in that order, one tool call at a time."
)
END = "When all is done, answer in one short sentence."


def system_prompt(advice: str) -> str:
    """Return the system prompt; `advice` is the device type's advice to its operator."""
    return " ".join(part for part in (TASK, advice, END) if part)


def outcome_text(outcome: Outcome) -> str:
    """Return a call's result as the model reads it: compact JSON, the value or an error."""
    if outcome.status == CallStatus.OK:
        value = dict(outcome.value or {})
    else:
        value = error_value(outcome.code or outcome.status, outcome.message or "the call failed")
    return compact_json(value)


def error_value(code: str, message: str) -> dict[str, str]:
    """Return a refusal as the model reads it."""
    return {"error": code, "message": message}


def compact_json(value: object) -> str:
    """Return JSON without spaces, in the characters as they are."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)
