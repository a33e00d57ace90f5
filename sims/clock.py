"""Virtual device time, counted in whole milliseconds so that durations add up exactly."""

from __future__ import annotations

TICKS_PER_SECOND = 1000
NEVER = 2**62
"""A tick that no episode reaches."""


class Clock:
    """Device time, which passes only by explicit steps.

    A counterfactual replays recorded durations; whole ticks make `t + (u - t) == u` hold, and floats do not.
    """

    def __init__(self) -> None:
        self.ticks = 0

    @property
    def now(self) -> float:
        """Device time, s."""
        return self.ticks / TICKS_PER_SECOND

    @staticmethod
    def to_ticks(seconds: float) -> int:
        """Return the nearest whole number of ticks."""
        return round(seconds * TICKS_PER_SECOND)

    @staticmethod
    def to_seconds(ticks: int) -> float:
        """Return ticks in seconds."""
        return ticks / TICKS_PER_SECOND
