"""Durations in words."""

from __future__ import annotations


def seconds_text(seconds: float) -> str:
    """Return a duration in words: `40 s`, `3 min`, `2.5 h`."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
