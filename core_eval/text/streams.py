"""Random streams: the seeds of all that is drawn in an episode."""

from __future__ import annotations

import hashlib
import json

STREAMS = 2
"""The version of the keys. A log names that of each run; without one it is 1."""


def stream(version: int, seed: int, purpose: str, *key: str) -> int:
    """Return the seed of a random stream, from 0 to 2**31 - 1.

    Streams differ by each part of their key, so the episodes of different tasks are independent draws.

    Args:
        version: of the keys, as the run's log names it. With version 1 each stream is the seed itself.
        seed: the run's, with the number of the try added.
        purpose: what is drawn.
        key: the task's id; of an agent's own stream also the agent's name.
    """
    if version == 1:
        return seed
    digest = hashlib.blake2b(json.dumps([seed, purpose, *key]).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") >> 1


def world_stream(version: int, seed: int, task: str) -> int:
    """Return the seed with which a world begins a task: the same for every agent."""
    return stream(version, seed, "world", task)
