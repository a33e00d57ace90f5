"""Estimates how long the rest of a run takes, from the episodes that it has run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import mean


class Pace:
    """The durations of a run's episodes, by agent."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {}

    @contextmanager
    def measured(self, agent: str) -> Iterator[None]:
        """Measure an episode of an agent while the context lasts."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.add(agent, time.monotonic() - began)

    def add(self, agent: str, seconds: float) -> None:
        """Add the duration of an episode of an agent."""
        self._seconds.setdefault(agent, []).append(seconds)

    def seconds(self, left: Sequence[str]) -> float | None:
        """Return about how long episodes of these agents take, s; None as long as none has ended.

        An agent without an episode yet is taken to be as fast as the others.
        """
        if not self._seconds:
            return None
        overall = mean(second for own in self._seconds.values() for second in own)
        return sum(mean(self._seconds.get(agent, [overall])) for agent in left)
