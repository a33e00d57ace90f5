"""Random numbers that depend on nothing but their key, so no branch that an episode takes shifts them."""

from __future__ import annotations

import hashlib
import math


def keyed_noise(seed: int, sensor: str, index: int) -> float:
    """A standard normal number that depends on nothing but seed, sensor and index of the sample.

    A counterfactual that takes other branches therefore sees the same noise. Box-Muller over BLAKE2b.
    """
    digest = hashlib.blake2b(f"{seed}/{sensor}/{index}".encode(), digest_size=16).digest()
    u = (int.from_bytes(digest[:8], "big") + 0.5) / 2**64
    v = int.from_bytes(digest[8:], "big") / 2**64
    return math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)


def keyed_uniform(*key: object) -> float:
    """A number in [0, 1) that depends on nothing but its key."""
    digest = hashlib.blake2b("/".join(map(str, key)).encode(), digest_size=8).digest()
    # 53 bits, since a float holds no more: 64 could round up to 1.
    return (int.from_bytes(digest, "big") >> 11) / 2**53
