"""The final stops of the rigs that a command has driven, for its last lines on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from devices.outcome import StopOutcome


@dataclass(frozen=True)
class FinalStop:
    """The stop with which the session with a rig ended.

    Attributes:
        rig: the rig's name.
        stop: what is known of the stop.
        can_confirm: whether the rig is able to confirm a stop.
        why: why it is not confirmed.
        late_stop_seconds: how long a second process keeps trying to send it.
    """

    rig: str
    stop: StopOutcome
    can_confirm: bool = True
    why: str = ""
    late_stop_seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether the rig may still move: the stop was not sent, or not confirmed by a rig that could."""
        return self.stop.failed(self.can_confirm)

    def line(self) -> str:
        """Return the line for the terminal; empty if the stop was confirmed."""
        # Not loaded by a verb that drives no rig.
        from devices.outcome import StopOutcome

        if self.stop is StopOutcome.CONFIRMED:
            return ""
        if not self.failed:
            return f"rig {self.rig}: stop sent; this driver cannot confirm it"
        unsent = self.stop is StopOutcome.NOT_SENT
        fact = "THE STOP WAS NOT SENT" if unsent else "THE STOP WAS SENT, BUT NOT CONFIRMED"
        why = f" ({self.why})" if self.why else ""
        late = ""
        if self.late_stop_seconds:
            late = (
                f" A SECOND PROCESS SENDS THE STOP IF THE LINK IS BACK WITHIN {self.late_stop_seconds:g} S."
            )
        return f"RIG {self.rig}: {fact}{why}. IT MAY STILL MOVE: USE ITS OWN STOP.{late}"


_STOPS: ContextVar[list[FinalStop] | None] = ContextVar("final stops", default=None)


@contextmanager
def final_stops() -> Iterator[list[FinalStop]]:
    """Collect the final stops within the block, in order."""
    stops: list[FinalStop] = []
    token = _STOPS.set(stops)
    try:
        yield stops
    finally:
        _STOPS.reset(token)


def record_final_stop(stop: FinalStop) -> None:
    """Append a stop to the list of the enclosing `final_stops`, if there is one."""
    stops = _STOPS.get()
    if stops is not None:
        stops.append(stop)
