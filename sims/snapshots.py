"""Snapshots of a simulator between two calls, to come back to bit for bit."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from threading import RLock
from typing import Any, ClassVar

from sims.coarse_sensors import SensorBank

BASE_KEPT = ("clock", "ledger", "_calls", "_finished")
"""What changes in every simulator."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole changing state of a simulator at a moment between two calls; only for that simulator."""

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
        """What parts of the state refer to and snapshots share, since it never changes in an episode."""
        return ()

    def snapshot(self) -> Snapshot:
        """The state between two calls, to come back to with `restore`."""
        with self._lock:
            parts = {name: getattr(self, name) for name in (*BASE_KEPT, *self.kept)}
            return Snapshot(self._copied(parts), self._bank.state)

    def restore(self, snapshot: Snapshot) -> None:
        """Back to a snapshot of this simulator, bit for bit; subscribers stay, and hear what comes after."""
        with self._lock:
            for name, part in self._copied(snapshot.parts).items():
                setattr(self, name, part)
            self._bank.state = snapshot.sensors

    def _copied(self, parts: Mapping[str, Any]) -> dict[str, Any]:
        # What is in the memo is taken for its own copy.
        same = {id(part): part for part in (self, *self.shared)}
        return copy.deepcopy(dict(parts), same)
