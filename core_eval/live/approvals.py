"""Asks for approval on the live page and on the terminal; the first answer counts."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from core_eval.report.tables.agents import call_text
from firmware_bridge.approval import Answer, Question, TerminalApprover

Publish = Callable[[str, Mapping[str, Any], str], None]
"""Publishes an event: its kind, its data and its key."""
POLL_SECONDS = 0.1


class PendingApproval:
    """A question waiting for its answer; only the first answer counts."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.answered = threading.Event()
        self._lock = threading.Lock()
        self._answer: tuple[Answer, str] | None = None

    def resolve(self, answer: Answer, by: str) -> bool:
        """Set the answer; return whether it was the first one."""
        with self._lock:
            if self._answer is not None:
                return False
            self._answer = answer, by
        self.answered.set()
        return True

    @property
    def answer(self) -> tuple[Answer, str] | None:
        """The answer, and its source."""
        with self._lock:
            return self._answer


class ApprovalQueue:
    """An `Approver` that asks on all channels at once; a timeout counts as a refusal.

    Args:
        publish: publishes an event on the page.
        seconds: time limit of an answer, s.
        terminal: asked too if its input is a terminal.
    """

    def __init__(self, publish: Publish, seconds: float, terminal: TerminalApprover | None = None) -> None:
        self._publish = publish
        self._seconds = seconds
        self._terminal = terminal if terminal is not None and terminal.interactive else None
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._pending: PendingApproval | None = None

    def ask(self, question: Question) -> Answer:
        """Ask, and wait; the question is always removed from the page afterwards."""
        pending = PendingApproval(next(self._numbers))
        call = call_text(question.tool, question.arguments)
        said = {"number": pending.number, "call": call, "reason": question.reason}
        by = "timeout"
        answer: Answer = "refuse"
        with self._lock:
            self._pending = pending
        try:
            until = {"seconds": self._seconds, "until": time.time() + self._seconds}
            self._publish("question", {**said, **until}, "question")
            answer, by = self._wait(pending, question)
        finally:
            with self._lock:
                self._pending = None
            self._publish("answered", {**said, "answer": answer, "by": by}, "question")
        return answer

    def answer(self, number: int, answer: Answer) -> bool:
        """Accept an answer from the page; return False if that question is not pending."""
        with self._lock:
            pending = self._pending
        return pending is not None and pending.number == number and pending.resolve(answer, "the live page")

    def stop(self) -> None:
        """Answer the pending question with a stop."""
        with self._lock:
            pending = self._pending
        if pending is not None:
            pending.resolve("stop", "the stop button")

    def _wait(self, pending: PendingApproval, question: Question) -> tuple[Answer, str]:
        deadline = time.monotonic() + self._seconds
        terminal = self._terminal
        if terminal is None:
            pending.answered.wait(self._seconds)
        else:
            terminal.show(question)
            while not pending.answered.is_set() and (left := deadline - time.monotonic()) > 0:
                typed = terminal.poll(question, min(POLL_SECONDS, left))
                if typed is not None:
                    pending.resolve(typed, "the terminal")
        pending.resolve("refuse", "timeout")
        assert pending.answer is not None
        answer, by = pending.answer
        if terminal is not None and by != "the terminal":
            terminal.say(f"{answer} ({by})")
        return answer, by
