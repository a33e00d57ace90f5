"""The events of a run: rows of its log, as they are written, and what the plan says of the next episode.

An observer is a callable that takes an event and handles the types that concern it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from core_eval.log.rows import EpisodeRow, RigStatusRow, StepRow
from devices.sensors import Sample


@dataclass(frozen=True, slots=True)
class EpisodePlanned:
    """The run's next episode is number `place` (from 1) of `total`.

    `seconds_left` is about how long this and the others take, by those that this process has run; None
    before the first has ended.
    """

    place: int
    total: int
    seconds_left: float | None = None


Event: TypeAlias = EpisodePlanned | EpisodeRow | StepRow | RigStatusRow | Sample
"""An episode comes three times: as it starts, as its rig is ready (`simulated` is known), and when it is over
and scored, if it can be scored. A step comes with its result. Statuses and samples come on any thread."""
Emit: TypeAlias = Callable[[Event], None]


def ignore(_event: Event) -> None:
    """Discard an event."""


T = TypeVar("T")


class Tracked(Protocol):
    """Yields the items and shows that `what` is being done, to so many of `total`."""

    def __call__(self, what: str, items: Iterable[T], total: int, /) -> Iterable[T]:
        """Return the items."""


def untracked(_what: str, items: Iterable[T], _total: int, /) -> Iterable[T]:
    """Return the items and show nothing."""
    return items
