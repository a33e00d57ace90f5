"""A twin's input: the calls and the coarse telemetry of an episode, as logged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core_eval.harm.report import ExecutedCall
from devices.sensors import Sample


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A call that reached the rig.

    Attributes:
        call: the logged call.
        start: device time since the episode began, s.
        result: the tool's answer; None where it gave none.
    """

    call: ExecutedCall
    start: float
    result: Mapping[str, Any] | None = None

    @property
    def end(self) -> float:
        """Device time since the episode began, s."""
        return self.start + self.call.duration


@dataclass(frozen=True, slots=True)
class LoggedEpisode:
    """An episode on a rig without truth.

    Attributes:
        calls: in order; times count from the start of the episode.
        samples: the coarse telemetry in order of device time, which counts from the same moment.
    """

    calls: tuple[LoggedCall, ...]
    samples: tuple[Sample, ...]

    @property
    def end(self) -> float:
        """Device time at which the log ends, s."""
        return self.calls[-1].end if self.calls else 0.0

    @classmethod
    def following(
        cls,
        calls: Sequence[ExecutedCall],
        samples: Sequence[Sample],
        results: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> LoggedEpisode:
        """Build an episode of calls without pauses, as on a virtual clock."""
        logged: list[LoggedCall] = []
        start = 0.0
        for index, call in enumerate(calls):
            logged.append(LoggedCall(call, start, None if results is None else results[index]))
            start += call.duration
        return cls(tuple(logged), tuple(samples))
