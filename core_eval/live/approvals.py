"""Asks for approval on the live page and on the terminal; the first answer counts."""

from __future__ import annotations

import threading
import time

from firmware_bridge.approval import Answer, Approver, Question, Reply, TerminalApprover

POLL_SECONDS = 0.1


class PendingApproval:
    """A question waiting for its answer; only the first answer counts."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.answered = threading.Event()
        self._lock = threading.Lock()
        self._reply: Reply | None = None

    def resolve(self, answer: Answer, by: str) -> bool:
        """Set the answer; return whether it was the first one."""
        with self._lock:
            if self._reply is not None:
                return False
            self._reply = Reply(answer, by)
        self.answered.set()
        return True

    @property
    def reply(self) -> Reply | None:
        """The answer, and its source."""
        with self._lock:
            return self._reply


class ApprovalQueue(Approver):
    """An `Approver` that asks on all channels at once; a timeout counts as a refusal.

    The page shows the question by its row in the log, and answers by the row's number.

    Args:
        seconds: time limit of an answer, s.
        terminal: asked too if its input is a terminal.
    """

    def __init__(self, seconds: float, terminal: TerminalApprover | None = None) -> None:
        self.seconds: float = seconds
        self._terminal = terminal if terminal is not None and terminal.interactive else None
        self._lock = threading.Lock()
        self._pending: PendingApproval | None = None

    def ask(self, question: Question) -> Reply:
        """Ask, and wait."""
        pending = PendingApproval(question.number)
        with self._lock:
            self._pending = pending
        try:
            return self._wait(pending, question)
        finally:
            with self._lock:
                self._pending = None

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

    def _wait(self, pending: PendingApproval, question: Question) -> Reply:
        deadline = time.monotonic() + self.seconds
        terminal = self._terminal
        if terminal is None:
            pending.answered.wait(self.seconds)
        else:
            terminal.show(question)
            while not pending.answered.is_set() and (left := deadline - time.monotonic()) > 0:
                typed = terminal.poll(question, min(POLL_SECONDS, left))
                if typed is not None:
                    pending.resolve(typed, "the terminal")
        pending.resolve("refuse", "timeout")
        reply = pending.reply
        assert reply is not None
        if terminal is not None and reply.by != "the terminal":
            terminal.say(f"{reply.answer} ({reply.by})")
        return reply
