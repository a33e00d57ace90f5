"""Random numbers that depend only on their key, so the path of an episode cannot shift them."""

from __future__ import annotations

import hashlib
import math


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
