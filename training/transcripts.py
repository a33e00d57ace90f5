"""The mix of made-up episodes that the shipped model learns from and is tested on.

Training seeds count up from 0; held-out episodes have seeds from `HELD_OUT` on, which training never reaches.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from training.arm_episodes import arm_episode
from training.episode import Episode
from training.rover_episodes import rover_episode

HELD_OUT = 1_000_000_000
ROVER_SHARE = 0.62


def episode(seed: int) -> Episode:
    """Return the episode of a seed."""
    rng = Random(seed)
    return rover_episode(rng) if rng.random() < ROVER_SHARE else arm_episode(rng)


def episodes(first_seed: int) -> Iterator[Episode]:
    """Yield episodes of consecutive seeds, without end."""
    seed = first_seed
    while True:
        yield episode(seed)
        seed += 1
