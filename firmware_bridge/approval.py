"""A person who approves calls: what is asked, what may be answered, and the terminal as one way to ask."""

from __future__ import annotations

import json
import select
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TextIO

from core_eval.path.visible_text import visible

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
    """A call that waits for a person, and why it is asked about."""

    tool: str
    arguments: Mapping[str, Any]
    reason: str


class Approver(Protocol):
    """Somebody who decides about a call, while the rig waits and its heartbeat goes on."""

    def ask(self, question: Question) -> Answer:
        """Approve it, refuse it, or stop the rig."""


class TerminalApprover:
    """Asks on the terminal. Where there is none, or its input ends, the answer is to refuse.

    Args:
        source, sink: where answers come from and questions go; left out: standard input and standard error.
    """

    def __init__(self, source: TextIO | None = None, sink: TextIO | None = None) -> None:
        self._source = source
        self._sink = sink

    @property
    def interactive(self) -> bool:
        """Whether somebody may answer."""
        source = self._source or sys.stdin
        return source is not None and source.isatty()

    def ask(self, question: Question) -> Answer:
        """Ask until the answer is one of the three."""
        if not self.interactive:
            return "refuse"
        self.show(question)
        while (answer := self.poll(question, None)) is None:
            pass
        return answer

    def show(self, question: Question) -> None:
        """Put the question on the terminal."""
        call = f"{question.tool}{json.dumps(dict(question.arguments), ensure_ascii=False)}"
        # A model chooses the words here: none of them may move the cursor.
        shown = visible(f"{call}: {question.reason}")
        sink = self._sink or sys.stderr
        print(f"{shown}\n  (a)pprove, (r)efuse or (s)top the rig? ", end="", file=sink, flush=True)

    def poll(self, question: Question, seconds: float | None) -> Answer | None:
        """The answer, if a line comes within this time (None: whenever); asks again where it is none."""
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
        """A line of its own, after a question that was answered elsewhere."""
        print(text, file=self._sink or sys.stderr, flush=True)
