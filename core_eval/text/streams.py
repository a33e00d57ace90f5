"""Random streams: the seeds of all that is drawn in an episode, and numbers that depend only on their key."""

from __future__ import annotations

import hashlib
import json
import math

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


def keyed_noise(seed: int, sensor: str, index: int) -> float:
    """Return a standard normal number that depends only on seed, sensor and index of the sample.

    A counterfactual that takes other branches therefore has the same noise. Box-Muller over BLAKE2b.
    """
    digest = hashlib.blake2b(f"{seed}/{sensor}/{index}".encode(), digest_size=16).digest()
    u = (int.from_bytes(digest[:8], "big") + 0.5) / 2**64
    v = int.from_bytes(digest[8:], "big") / 2**64
    return math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)


def keyed_uniform(*key: object) -> float:
    """Return a number in [0, 1) that depends only on its key."""
    digest = hashlib.blake2b("/".join(map(str, key)).encode(), digest_size=8).digest()
    # 53 bits fit into a float; 64 could round up to 1.
    return (int.from_bytes(digest, "big") >> 11) / 2**53
