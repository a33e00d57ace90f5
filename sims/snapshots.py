"""Snapshots of a simulator between two calls, to come back to bit for bit."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from threading import RLock
from typing import Any, ClassVar, Self, TypeVar

from sims.coarse_sensors import SensorBank

Part = TypeVar("Part")

BASE_KEPT = ("clock", "ledger", "_calls", "_finished")
"""Attributes that change in every simulator."""


def shallow_copy(part: Part) -> Part:
    """Return a copy of an object with slots: as `copy.copy`, but several times as fast."""
    kind = type(part)
    twin = kind.__new__(kind)
    for name in kind.__slots__:  # type: ignore[attr-defined]
        setattr(twin, name, getattr(part, name))
    return twin


class Alike(ABC):
    """A part of a state that compares itself, where its attributes cannot be."""

    @abstractmethod
    def is_as(self, other: Self) -> bool:
        """Return whether this goes on bit for bit as another one."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All changing state of a simulator between two calls; valid only for that simulator."""

    parts: Mapping[str, Any]
    sensors: tuple[Any, ...]


class Snapshots:
    """The part of a simulator that copies its state and puts it back.

    A subclass names in `kept` its attributes that change after `begin`; they are copied together, so they may
    refer to each other. Its sensors read their quantities through the simulator
    (`lambda: self.state.battery`), never from a part of it, so that they hold after `restore`.
    """

    kept: ClassVar[tuple[str, ...]]
    _bank: SensorBank
    _lock: RLock

    @property
    def shared(self) -> tuple[object, ...]:
        """Constant objects that the state refers to and snapshots share."""
        return ()

    def snapshot(self) -> Snapshot:
        """Return the state between two calls, for `restore`."""
        with self._lock:
            parts = {name: getattr(self, name) for name in (*BASE_KEPT, *self.kept)}
            return Snapshot(self._copied(parts), self._bank.state)

    def restore(self, snapshot: Snapshot, *, once: bool = False) -> None:
        """Restore a snapshot of this simulator, bit for bit; subscribers stay, and get all later samples.

        One that is restored `once` is used up: its state is not copied again.
        """
        with self._lock:
            for name, part in (snapshot.parts if once else self._copied(snapshot.parts)).items():
                setattr(self, name, part)
            self._bank.state = snapshot.sensors

    def _copied(self, parts: Mapping[str, Any]) -> dict[str, Any]:
        # Objects in the memo are not copied.
        same = {id(part): part for part in (self, *self.shared)}
        return copy.deepcopy(dict(parts), same)
