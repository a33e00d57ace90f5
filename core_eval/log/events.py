"""The events of a run, one class each, and their observers.

An observer is a callable that takes an event and handles the types that concern it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from devices.outcome import Outcome
from devices.sensors import Sample

if TYPE_CHECKING:
    from configs.tasks_loader import Task
    from core_eval.log import EpisodeRow
    from firmware_bridge.guard import GuardDecision


@dataclass(frozen=True, slots=True)
class EpisodePlanned:
    """The run's next episode is number `place` (from 1) of `total`.

    `seconds_left` is about how long this and the others take, by those that this process has run; None
    before the first has ended.
    """

    place: int
    total: int
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class EpisodeStarted:
    """An episode has started; `episode` is its id in the log."""

    episode: int
    task: Task
    agent: str
    seed: int


@dataclass(frozen=True, slots=True)
class RigReady:
    """The episode's rig answered and is in the initial state."""

    rig: str
    device: str
    guard: str


@dataclass(frozen=True, slots=True)
class Decided:
    """The guard has decided on call `k`, which is sent next unless it was refused."""

    k: int
    tool: str
    arguments: Mapping[str, Any]
    kind: str
    decision: GuardDecision


@dataclass(frozen=True, slots=True)
class Stepped:
    """Step `k` is complete; `tool` is None if the agent's text could not be read as a call."""

    k: int
    tool: str | None
    arguments: Mapping[str, Any]
    outcome: Outcome
    kind: str


@dataclass(frozen=True, slots=True)
class Remarked:
    """Something about the model's answer that led to step `k` which its calls do not show; one line."""

    k: int
    remark: str


@dataclass(frozen=True, slots=True)
class Sampled:
    """A coarse reading; emitted on the thread that reads the link."""

    sample: Sample


@dataclass(frozen=True, slots=True)
class RigStatus:
    """A status of the rig, from `source` `device`, `link` or `host`; emitted on any thread."""

    source: str
    state: str


@dataclass(frozen=True, slots=True)
class EpisodeEnded:
    """An episode is complete, and scored if it can be scored."""

    episode: EpisodeRow


Event: TypeAlias = (
    EpisodePlanned
    | EpisodeStarted
    | RigReady
    | Decided
    | Remarked
    | Stepped
    | Sampled
    | RigStatus
    | EpisodeEnded
)
Emit: TypeAlias = Callable[[Event], None]


def ignore(_event: Event) -> None:
    """Discard an event."""


class Observers:
    """Forwards each event to the run's own observer, then to others, whose failure does not end the run.

    Args:
        own: an exception that it raises ends the run.
        others: an observer that raises is removed; its error is appended to `trouble`.
    """

    def __init__(self, own: Emit, *others: Emit) -> None:
        self.trouble: list[str] = []
        self._own = own
        self._others = list(others)

    def __call__(self, event: Event) -> None:
        """Forward an event."""
        self._own(event)
        for other in tuple(self._others):
            try:
                other(event)
            except Exception as error:
                self._others.remove(other)
                name = getattr(other, "__name__", type(other).__name__)
                self.trouble.append(f"{name}: {type(error).__name__}: {error}")
