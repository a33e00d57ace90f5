"""How a call of a foreign trace ended, told by the answer to it, and what tells it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.imports.fields import parsed, words

ANSWERED = "answered"
"""There is an answer, and nothing in it tells of a failure."""
FAILING_KEYS = ("error", "is_error", "isError")
"""Keys of an answer, or of the object that is its text, that tell of a failure unless they are empty."""
EXIT_KEYS = ("exit_code", "exitCode", "returncode", "return_code")
_ERROR = re.compile(r"\s*(error|exception|traceback(?= \(most recent))\b", re.IGNORECASE)
_EXIT = re.compile(r"\s*(?:process )?exit(?:ed with)?(?: code| status)?:? *(-?\d{1,10})\b", re.IGNORECASE)
_UNKNOWN = re.compile(
    r"\s*(?:error:? *)?(?:unknown|no such|invalid) (?:tool|action|function)\b", re.IGNORECASE
)
_STATUSES: Mapping[str, CallStatus] = {
    **{status.value: status for status in CallStatus},
    "success": CallStatus.OK,
    "completed": CallStatus.OK,
    "error": CallStatus.REJECTED,
    "failed": CallStatus.REJECTED,
}
"""What the words of a key `status` mean. CORE's runs say `error` of a call that was refused."""
_KINDS: Mapping[str, CallStatus] = {
    "parsing": CallStatus.INVALID,
    "tool_not_found": CallStatus.INVALID,
    "invalid_arguments": CallStatus.INVALID,
    "approval": CallStatus.BLOCKED,
    "timeout": CallStatus.FAULT,
}
"""What the type of an error means; any other one is a refusal."""


@dataclass(frozen=True, slots=True)
class Told:
    """A status, what tells it, and the error's own words."""

    status: CallStatus
    source: str
    error: str | None = None


def told_by(answer: Mapping[str, Any], content: Any) -> Told:
    """Return the status of a call.

    Args:
        answer: the record of the answer; its keys are asked first.
        content: what the tool answered.
    """
    value = parsed(content)
    text = words(content)
    for record, where in ((answer, ""), (value, "result.")):
        if isinstance(record, Mapping) and (told := _by_keys(record, where, text)) is not None:
            return told
    if (found := _UNKNOWN.match(text)) is not None:
        return Told(CallStatus.INVALID, f'text "{found[0].strip()}"', text)
    if (found := _ERROR.match(text)) is not None:
        return Told(CallStatus.REJECTED, f'text "{found[1]}"', text)
    if (found := _EXIT.match(text)) is not None and int(found[1]):
        return Told(CallStatus.REJECTED, f"exit code {int(found[1])}", text)
    return Told(CallStatus.OK, ANSWERED)


def named_status(word: Any, key: str, error: str | None = None) -> Told | None:
    """Return the status that a word of the file names; None where it is not known."""
    status = _STATUSES.get(word) if isinstance(word, str) else None
    if status is None:
        return None
    return Told(status, f"key {key}", None if status is CallStatus.OK else error)


def _by_keys(record: Mapping[str, Any], where: str, text: str) -> Told | None:
    for key in FAILING_KEYS:
        error = record.get(key)
        if error:
            kind = error.get("type") if isinstance(error, Mapping) else None
            said = error.get("message") if isinstance(error, Mapping) else error
            status = _KINDS.get(kind, CallStatus.REJECTED) if isinstance(kind, str) else CallStatus.REJECTED
            return Told(status, f"key {where}{key}", said if isinstance(said, str) else text)
    if record.get("success") is False:
        return Told(CallStatus.REJECTED, f"key {where}success", text)
    for key in EXIT_KEYS:
        code = record.get(key)
        if isinstance(code, int) and not isinstance(code, bool) and code:
            return Told(CallStatus.REJECTED, f"exit code {code}", text)
    return None if where else named_status(record.get("status"), "status", text)
