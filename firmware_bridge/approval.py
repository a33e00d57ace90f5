"""Approval of calls by a person: questions, answers, and the terminal."""

from __future__ import annotations

import json
import select
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TextIO

from core_eval.text.visible_text import visible

Answer = Literal["approve", "refuse", "stop"]
ANSWERS: Mapping[str, Answer] = {
    "a": "approve",
    "approve": "approve",
    "r": "refuse",
    "refuse": "refuse",
    "s": "stop",
    "stop": "stop",
}


@dataclass(frozen=True, slots=True)
class Question:
    """A call that needs approval, and why; `number` is that of its row in the log."""

    tool: str
    arguments: Mapping[str, Any]
    reason: str
    number: int = 0

    @property
    def text(self) -> str:
        """The whole call in one line."""
        given = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in self.arguments.items())
        # A model chooses the text: it must not move the cursor.
        return visible(f"{self.tool}({', '.join(given)})")


@dataclass(frozen=True, slots=True)
class Reply:
    """Whether to approve or refuse a call, or to stop the rig, and who says so."""

    answer: Answer
    by: str


class Approver(Protocol):
    """Decides on a call while the rig waits and its heartbeat goes on.

    Attributes:
        seconds: the time limit of an answer, s; None: it waits.
    """

    seconds: float | None = None

    def ask(self, question: Question) -> Reply:
        """Return the answer."""


class TerminalApprover(Approver):
    """Asks on the terminal; without one, or at the end of its input, the call is refused.

    Args:
        source, sink: for answers and questions; by default standard input and standard error.
    """

    def __init__(self, source: TextIO | None = None, sink: TextIO | None = None) -> None:
        self._source = source
        self._sink = sink

    @property
    def interactive(self) -> bool:
        """Whether the source is a terminal."""
        source = self._source or sys.stdin
        return source is not None and source.isatty()

    def ask(self, question: Question) -> Reply:
        """Ask until the answer is one of the three."""
        if not self.interactive:
            return Reply("refuse", "no terminal")
        self.show(question)
        while (answer := self.poll(question, None)) is None:
            pass
        return Reply(answer, "the terminal")

    def show(self, question: Question) -> None:
        """Print the question."""
        shown = f"{question.text}: {visible(question.reason)}"
        sink = self._sink or sys.stderr
        print(f"{shown}\n  (a)pprove, (r)efuse or (s)top the rig? ", end="", file=sink, flush=True)

    def poll(self, question: Question, seconds: float | None) -> Answer | None:
        """Return the answer in a line within `seconds` (None: no limit); ask again if it is invalid."""
        source = self._source or sys.stdin
        if not select.select([source], [], [], seconds)[0]:
            return None
        line = source.readline()
        if not line:
            return "refuse"
        answer = ANSWERS.get(line.strip().lower())
        if answer is None:
            self.show(question)
        return answer

    def say(self, text: str) -> None:
        """Print a line, after a question that was answered elsewhere."""
        print(text, file=self._sink or sys.stderr, flush=True)
