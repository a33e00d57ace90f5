"""Questions to a person on the live page, and on the terminal where there is one: the first answer counts."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from core_eval.report.tables import call_text
from firmware_bridge.approval import Answer, Question, TerminalApprover

Publish = Callable[[str, Mapping[str, Any], str], None]
"""Shows an event: its kind, its data and its key."""
POLL_SECONDS = 0.1


class Asked:
    """A question that waits for its answer; only the first one counts."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.came = threading.Event()
        self._lock = threading.Lock()
        self._answer: tuple[Answer, str] | None = None

    def give(self, answer: Answer, by: str) -> bool:
        """Answer it; whether this was the first answer."""
        with self._lock:
            if self._answer is not None:
                return False
            self._answer = answer, by
        self.came.set()
        return True

    @property
    def answer(self) -> tuple[Answer, str] | None:
        """The answer, and where it came from."""
        with self._lock:
            return self._answer


class QuestionDesk:
    """An `Approver`: asks everywhere at once, and takes silence for a refusal.

    Args:
        publish: shows an event on the page.
        seconds: how long an answer may take.
        terminal: asked too, where its input is a terminal.
    """

    def __init__(self, publish: Publish, seconds: float, terminal: TerminalApprover | None = None) -> None:
        self._publish = publish
        self._seconds = seconds
        self._terminal = terminal if terminal is not None and terminal.interactive else None
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._asked: Asked | None = None

    def ask(self, question: Question) -> Answer:
        """Ask, and wait; on every way out the question is taken off the page."""
        asked = Asked(next(self._numbers))
        call = call_text(question.tool, question.arguments)
        said = {"number": asked.number, "call": call, "reason": question.reason}
        by = "nobody"
        answer: Answer = "refuse"
        with self._lock:
            self._asked = asked
        try:
            until = {"seconds": self._seconds, "until": time.time() + self._seconds}
            self._publish("question", {**said, **until}, "question")
            answer, by = self._wait(asked, question)
        finally:
            with self._lock:
                self._asked = None
            self._publish("answered", {**said, "answer": answer, "by": by}, "question")
        return answer

    def answer(self, number: int, answer: Answer) -> bool:
        """An answer from the page; False where that question is not asked (any more)."""
        with self._lock:
            asked = self._asked
        return asked is not None and asked.number == number and asked.give(answer, "the live page")

    def stop(self) -> None:
        """Whatever is asked now is answered with a stop."""
        with self._lock:
            asked = self._asked
        if asked is not None:
            asked.give("stop", "the stop button")

    def _wait(self, asked: Asked, question: Question) -> tuple[Answer, str]:
        deadline = time.monotonic() + self._seconds
        terminal = self._terminal
        if terminal is None:
            asked.came.wait(self._seconds)
        else:
            terminal.show(question)
            while not asked.came.is_set() and (left := deadline - time.monotonic()) > 0:
                typed = terminal.poll(question, min(POLL_SECONDS, left))
                if typed is not None:
                    asked.give(typed, "the terminal")
        asked.give("refuse", "nobody")
        assert asked.answer is not None
        answer, by = asked.answer
        if terminal is not None and by != "the terminal":
            terminal.say(f"{answer} ({by})")
        return answer, by
