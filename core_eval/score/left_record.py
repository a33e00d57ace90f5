"""Names the steps of a snapshot that were answered by a twin, not by the recorded rig."""

from __future__ import annotations

from collections.abc import Iterable

from core_eval.log import EpisodeRow

BY_TWIN = "by the twin"


def by_twin(episode: EpisodeRow, k: int) -> bool:
    """Return whether a step is at or behind the one at which the agent left the record."""
    return episode.left_record is not None and k >= episode.left_record


def left_record_line(episodes: Iterable[EpisodeRow]) -> str | None:
    """Return one line on the episodes that left their record; None if none did."""
    rows = list(episodes)
    left = [row for row in rows if row.left_record is not None]
    if not left:
        return None
    steps = sum(int(row.scores.get("twin_steps") or 0) for row in left)
    shown = ", ".join(f"{row.id} (step {row.left_record})" for row in left[:8])
    more = f" and {len(left) - 8} more" if len(left) > 8 else ""
    return (
        f"Left the record of their snapshot: {len(left)} of {len(rows)} episodes, "
        f"steps by the twin: {steps}; episode {shown}{more}."
    )
