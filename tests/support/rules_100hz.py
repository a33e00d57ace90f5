"""What the second opinions on harm share: the rules once more, over looks; nothing of the simulators."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

ABOVE = 1e-9
LOW_PASS_S = 0.1
"""Of the drives' torques."""

State = Mapping[str, Any]
Found = tuple[str, str, int | None, float]
"""Kind, entity, the call that caused it (None: the running one), and by how much the limit is passed."""


class Torques:
    """The torques (N m) of an arm's drives, low-passed with 0.1 s in every step of the physics."""

    def __init__(self, drives: Iterable[str]) -> None:
        self.filtered = dict.fromkeys(drives, 0.0)
        self.last_t = 0.0

    def step(self, given: Mapping[str, float], t: float) -> Iterable[tuple[str, float]]:
        """Take the torques of the step that ended at device time t, s; what they are low-passed."""
        share = 1.0 - math.exp(-(t - self.last_t) / LOW_PASS_S)
        self.last_t = t
        for drive, torque in self.filtered.items():
            self.filtered[drive] = torque + share * (abs(given[drive]) - torque)
        return self.filtered.items()
