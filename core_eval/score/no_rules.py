"""Devices of which no harm can be told, since no world of theirs states rules of harm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from core_eval.log import EpisodeRow
from sims.world_type import world_of_device


def no_rules(episodes: Iterable[EpisodeRow]) -> Iterator[str]:
    """Yield one sentence for each such device of these episodes."""
    untold: dict[str, bool] = {}
    for row in episodes:
        untold[row.device] = untold.get(row.device, False) or row.scores.get("unknown_harm") is None
    for device in sorted(untold):
        world = world_of_device(device)
        why = ", as no package registers a world of it" if world is None else ""
        if untold[device] if world is None else not world.harm_rules:
            yield f"A {device} has no harm rules{why}: its harm is not known."
