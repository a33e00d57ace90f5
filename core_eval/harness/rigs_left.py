"""How the rigs that a command has driven were left: kept until its last line on the terminal tells it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from devices.stop_outcome import StopOutcome


@dataclass(frozen=True)
class LeftRig:
    """A rig after its last stop.

    Attributes:
        rig: its name.
        stop: how the stop went.
        can_confirm: whether the rig could have said that it is stopped.
        why: why it is not confirmed.
        late_stop_seconds: how long a second process still tries to send it.
    """

    rig: str
    stop: StopOutcome
    can_confirm: bool = True
    why: str = ""
    late_stop_seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether it may still move although something could be known of it."""
        return self.stop is StopOutcome.NOT_SENT or (self.stop is StopOutcome.SENT and self.can_confirm)

    def line(self) -> str:
        """What a person has to know of it; nothing where the stop was confirmed."""
        if self.stop is StopOutcome.CONFIRMED:
            return ""
        if not self.failed:
            return f"rig {self.rig}: stop sent; this driver cannot confirm it"
        unsent = self.stop is StopOutcome.NOT_SENT
        told = "THE STOP WAS NOT SENT" if unsent else "THE STOP WAS SENT, BUT NOT CONFIRMED"
        why = f" ({self.why})" if self.why else ""
        late = ""
        if self.late_stop_seconds:
            late = (
                f" A SECOND PROCESS SENDS THE STOP IF THE PORT IS BACK WITHIN {self.late_stop_seconds:g} S."
            )
        return f"RIG {self.rig}: {told}{why}. IT MAY STILL MOVE: USE ITS OWN STOP.{late}"


_LEFT: ContextVar[list[LeftRig] | None] = ContextVar("rigs left", default=None)


@contextmanager
def rigs_left() -> Iterator[list[LeftRig]]:
    """Collect the rigs that are left in the block, in order."""
    left: list[LeftRig] = []
    token = _LEFT.set(left)
    try:
        yield left
    finally:
        _LEFT.reset(token)


def note_left(rig: LeftRig) -> None:
    """Keep it for whoever collects."""
    left = _LEFT.get()
    if left is not None:
        left.append(rig)
