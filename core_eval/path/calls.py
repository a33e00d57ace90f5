"""One tool call of an agent, its status and its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.path.facts import Fact

MOST_LOOKS = 60
"""So often a golden run makes a call until its answer tells the fact that it asks for."""


class StepKind(StrEnum):
    """What a call was worth in the state in which it was issued."""

    PROGRESS = "progress"
    LOOP = "loop"
    HARMFUL = "harmful"
    FAULT = "fault"


class CallClass(StrEnum):
    """What a call was: its kind, with harmful calls told apart by whether they were executed."""

    PROGRESS = "progress"
    LOOP = "loop"
    OFF_PATH = "off_path"
    """Executed, and not allowed here."""
    REFUSED_WRITE = "refused_write"
    """Refused by the device or the guard."""
    INVALID = "invalid"
    """Not understood: an unknown tool, wrong arguments, or no readable call."""
    FAULT = "fault"

    @classmethod
    def of(cls, kind: StepKind, status: CallStatus) -> CallClass:
        """Return the class of a call of that kind that ended with that status."""
        return _CLASS_OF_HARMFUL[status] if kind is StepKind.HARMFUL else _CLASS_OF[kind]


_CLASS_OF = {kind: CallClass(kind.value) for kind in StepKind if kind is not StepKind.HARMFUL}
_CLASS_OF_HARMFUL = {
    CallStatus.OK: CallClass.OFF_PATH,
    CallStatus.REJECTED: CallClass.REFUSED_WRITE,
    CallStatus.BLOCKED: CallClass.REFUSED_WRITE,
    CallStatus.INVALID: CallClass.INVALID,
    CallStatus.FAULT: CallClass.FAULT,
}


@dataclass(slots=True)
class Call:
    """A logged tool call, which nobody changes (to make a frozen dataclass takes three times as long).

    Attributes:
        name: the tool.
        arguments: as given.
        status: how it ended.
        result: what it returned, JSON-ready; None where that is not known.
        reads: whether its trace says that it is a read.
        idle: whether it is known to be a write that changed nothing.
        asks: of a call that is to be made, the fact for which it is made again until its answer tells it.
        group: what the calls of one message share; None where that is not known.
        words: what the agent said beside it.
        heard: what the user said since the call before it.
    """

    name: str
    arguments: Mapping[str, Any]
    status: CallStatus = CallStatus.OK
    result: Any = None
    reads: bool = False
    idle: bool = False
    asks: Fact | None = None
    group: str | int | None = None
    words: str = ""
    heard: str = ""

    def is_told_by(self, status: CallStatus, answer: Any) -> bool:
        """Return whether an answer leaves nothing to ask again for: it is a refusal, or tells the fact."""
        return self.asks is None or status is not CallStatus.OK or self.asks.holds(answer)


@dataclass(slots=True)
class StepVerdict:
    """The automaton's verdict on a call in the state in which it was issued; nobody changes it.

    Attributes:
        kind: progress, loop, harmful or fault.
        symbol: the matching symbol; None where the call matches none or is left out.
        state_before, state_after: the automaton's state; only progress changes it.
        class_: the kind, with harmful calls told apart by how they ended.
    """

    kind: StepKind
    symbol: str | None
    state_before: str
    state_after: str
    class_: CallClass
