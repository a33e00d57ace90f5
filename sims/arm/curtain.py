"""The light curtain of a simulated arm, and the harm of moving while a person stands in it."""

from __future__ import annotations

from dataclasses import dataclass

from devices.arm.light_curtain import Break, is_broken


@dataclass
class Curtain:
    """The light curtain with its scheduled breaks; `ignored` where a counterfactual waits for them to end."""

    breaks: tuple[Break, ...]
    ignored: bool = False

    def broken(self, t: float) -> bool:
        """Return whether it is broken at device time `t`, s."""
        return bool(self.breaks) and not self.ignored and is_broken(self.breaks, t)
