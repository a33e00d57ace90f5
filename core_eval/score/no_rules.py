"""Devices of which no harm can be told, since no world of theirs states rules of harm."""

from __future__ import annotations

from collections.abc import Iterable

from core_eval.log import EpisodeRow
from sims.world_type import world_of_device


def no_rules(episodes: Iterable[EpisodeRow]) -> list[str]:
    """One sentence for each such device of these episodes."""
    untold = {row.device for row in episodes if row.scores.get("unknown_harm") is None}
    return [
        f"A {device} has no harm rules, as no package registers a world of it: its harm is not known."
        for device in sorted(untold)
        if world_of_device(device) is None
    ]
