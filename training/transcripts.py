"""The mix of made-up episodes that the shipped models learn from and are tested on.

Training seeds count up from 0; held-out episodes have seeds from `HELD_OUT` on, which training never reaches.
An episode that is like a shipped task (`training.shipped`) is drawn again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from random import Random

from training.arm_episodes import arm_episode
from training.arm_situations import arm_situation
from training.episode import Episode
from training.rover_episodes import rover_episode
from training.rover_situations import rover_situation
from training.shipped import PLANS, WORDINGS, signature, wordings
from training.wordings import SEEN, Wordings

HELD_OUT = 1_000_000_000
ROVER_SHARE = 0.55
SITUATION_SHARE = 0.68
ROVER = rover_episode, rover_situation
ARM = arm_episode, arm_situation


def episode(seed: int, wordings: Wordings = SEEN) -> Episode:
    """Return the episode of a seed; `training.held_out_wordings` has other words than those of training."""
    for attempt in count():
        rng = Random(f"{seed} {attempt}" if attempt else seed)
        plain, situation = ROVER if rng.random() < ROVER_SHARE else ARM
        kind = situation if rng.random() < SITUATION_SHARE else plain
        drawn = kind(rng, wordings)
        if not is_shipped(drawn):
            return drawn
    raise AssertionError("count() ends never")


def is_shipped(drawn: Episode) -> bool:
    """Return whether an episode has six words in a row, or the plan, of a shipped task."""
    calls = ((turn.tool, turn.arguments) for turn in drawn.turns if turn.learn)
    return not WORDINGS.isdisjoint(wordings(drawn.prompt)) or signature(calls) in PLANS


def episodes(first_seed: int) -> Iterator[Episode]:
    """Yield episodes of consecutive seeds, without end."""
    return (episode(seed) for seed in count(first_seed))
