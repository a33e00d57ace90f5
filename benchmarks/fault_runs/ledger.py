"""A device that records what it executes, and the calls for it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from core_eval.call_status import CallStatus
from devices.outcome import Outcome, StopOutcome

Counts = dict[str, int | float]
"""The counts of a run, by name."""


class Ledger:
    """A device that counts how often each number was executed, and records when it was made safe.

    `work` takes a number and its checksum, so that a call that was never sent shows.
    """

    name = "ledger"
    firmware = "faults"

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.executed: Counter[int] = Counter()
        self.wrong = 0
        self.started = threading.Event()
        self.safe_at = 0.0
        self.made_safe = threading.Event()

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: threading.Event) -> Outcome:
        """Record the call; it takes `seconds`, or until a stop."""
        number = arguments.get("n")
        if tool != "work" or not isinstance(number, int) or arguments.get("check") != check_of(number):
            self.wrong += 1
            return Outcome(CallStatus.INVALID, code="wrong", message="this was not sent")
        self.executed[number] += 1
        self.started.set()
        if stop.wait(self.seconds):
            return Outcome(CallStatus.FAULT, code="stopped", message="stopped")
        return Outcome(CallStatus.OK, {"n": number})

    def safe(self) -> StopOutcome:
        """Record the time."""
        self.safe_at = time.monotonic()
        self.made_safe.set()
        return StopOutcome.CONFIRMED

    def reset(self) -> None:
        """Do nothing."""
        self.made_safe.clear()

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        """Refuse: this is no simulator."""
        return Outcome(CallStatus.INVALID, code="physical", message="no simulator")

    def subscribe(self, emit: Callable[..., None]) -> None:
        """Do nothing: there are no sensors."""

    def truth(self) -> None:
        """Return None: there is no truth."""

    @property
    def twice(self) -> int:
        """Return how many numbers were executed more than once."""
        return sum(count > 1 for count in self.executed.values())


def check_of(number: int) -> int:
    return number * 2_654_435_761 % 2**32


def work(number: int) -> dict[str, int]:
    return {"n": number, "check": check_of(number)}
