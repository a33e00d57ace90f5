"""Who watches a run: told of each thing as it happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from devices.outcome import Outcome
from devices.sensors import Sample

if TYPE_CHECKING:
    from configs.tasks_loader import Task
    from core_eval.log import EpisodeRow
    from firmware_bridge.guard import GuardDecision


class Listener:
    """Somebody who watches a run; a subclass overrides what it wants to hear of."""

    def episode_started(self, episode: int, task: Task, agent: str, seed: int) -> None:
        """An episode begins."""

    def rig_ready(self, rig: str, device: str, guard: str) -> None:
        """The episode's rig answered and stands at the start."""

    def decided(
        self, k: int, tool: str, arguments: Mapping[str, Any], kind: str, decision: GuardDecision
    ) -> None:
        """The guard has decided about a call, which goes out now unless it was held back."""

    def step(
        self, k: int, tool: str | None, arguments: Mapping[str, Any], outcome: Outcome, kind: str
    ) -> None:
        """A step is over."""

    def sample(self, sample: Sample) -> None:
        """A coarse reading; on the link's reader thread."""

    def rig_status(self, source: str, state: str) -> None:
        """What `device` or `host` said of itself; on any thread."""

    def episode_ended(self, episode: EpisodeRow) -> None:
        """An episode is over, and scored where it can be."""


class Watched(Listener):
    """Tells one listener that the run belongs to, and others that may neither break nor end it.

    Args:
        own: what it raises ends the run.
        others: what they raise is kept in `trouble`, once for each, and they are told no more.
    """

    def __init__(self, own: Listener, *others: Listener) -> None:
        self.trouble: list[str] = []
        self._own = own
        self._others = list(others)

    def episode_started(self, episode: int, task: Task, agent: str, seed: int) -> None:
        """Pass it on."""
        self._own.episode_started(episode, task, agent, seed)
        self._tell(lambda other: other.episode_started(episode, task, agent, seed))

    def rig_ready(self, rig: str, device: str, guard: str) -> None:
        """Pass it on."""
        self._own.rig_ready(rig, device, guard)
        self._tell(lambda other: other.rig_ready(rig, device, guard))

    def decided(
        self, k: int, tool: str, arguments: Mapping[str, Any], kind: str, decision: GuardDecision
    ) -> None:
        """Pass it on."""
        self._own.decided(k, tool, arguments, kind, decision)
        self._tell(lambda other: other.decided(k, tool, arguments, kind, decision))

    def step(
        self, k: int, tool: str | None, arguments: Mapping[str, Any], outcome: Outcome, kind: str
    ) -> None:
        """Pass it on."""
        self._own.step(k, tool, arguments, outcome, kind)
        self._tell(lambda other: other.step(k, tool, arguments, outcome, kind))

    def sample(self, sample: Sample) -> None:
        """Pass it on."""
        self._own.sample(sample)
        self._tell(lambda other: other.sample(sample))

    def rig_status(self, source: str, state: str) -> None:
        """Pass it on."""
        self._own.rig_status(source, state)
        self._tell(lambda other: other.rig_status(source, state))

    def episode_ended(self, episode: EpisodeRow) -> None:
        """Pass it on."""
        self._own.episode_ended(episode)
        self._tell(lambda other: other.episode_ended(episode))

    def _tell(self, tell: Callable[[Listener], None]) -> None:
        for other in tuple(self._others):
            try:
                tell(other)
            except Exception as error:
                self._others.remove(other)
                self.trouble.append(f"{type(other).__name__}: {type(error).__name__}: {error}")
