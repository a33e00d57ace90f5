"""What happens in a run, one class an event, and the observers who are told.

An observer is a callable that takes an event, and acts on those that concern it.
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
class EpisodeStarted:
    """An episode begins; `episode` is its id in the log."""

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
    """The guard has decided about call `k`, which is sent now unless it was refused."""

    k: int
    tool: str
    arguments: Mapping[str, Any]
    kind: str
    decision: GuardDecision


@dataclass(frozen=True, slots=True)
class Stepped:
    """Step `k` is over; `tool` is None where the agent's text was no call."""

    k: int
    tool: str | None
    arguments: Mapping[str, Any]
    outcome: Outcome
    kind: str


@dataclass(frozen=True, slots=True)
class Sampled:
    """A coarse reading; emitted on the thread that reads the link."""

    sample: Sample


@dataclass(frozen=True, slots=True)
class RigStatus:
    """What `device` or `host` states about the rig; emitted on any thread."""

    source: str
    state: str


@dataclass(frozen=True, slots=True)
class EpisodeEnded:
    """An episode is over, and scored where it can be."""

    episode: EpisodeRow


Event: TypeAlias = EpisodeStarted | RigReady | Decided | Stepped | Sampled | RigStatus | EpisodeEnded
Emit: TypeAlias = Callable[[Event], None]


def ignore(_event: Event) -> None:
    """An observer that does nothing."""


class Observers:
    """Passes each event on to the run's own observer, then to others, which may neither break nor end it.

    Args:
        own: what it raises ends the run.
        others: what they raise is kept in `trouble`, once for each, and they get no more events.
    """

    def __init__(self, own: Emit, *others: Emit) -> None:
        self.trouble: list[str] = []
        self._own = own
        self._others = list(others)

    def __call__(self, event: Event) -> None:
        """Pass it on."""
        self._own(event)
        for other in tuple(self._others):
            try:
                other(event)
            except Exception as error:
                self._others.remove(other)
                name = getattr(other, "__name__", type(other).__name__)
                self.trouble.append(f"{name}: {type(error).__name__}: {error}")
