"""Exact tests of a share that must be high: how surely so few failures show it."""

from __future__ import annotations

from math import comb


def chance_of_so_few(failures: int, tries: int, share: float) -> float:
    """Return the chance of at most so many failures in independent tries, where `share` of all succeed: the
    one-sided p-value of "more than `share` succeed" (Clopper and Pearson, Biometrika 26, 1934).
    """
    return sum(
        comb(tries, lost) * (1.0 - share) ** lost * share ** (tries - lost) for lost in range(failures + 1)
    )


def tries_needed(share: float, alpha: float, failures: int = 0) -> int:
    """Return the fewest tries of which so many failures show at level `alpha` that more than `share` succeed.

    Args:
        share: below 1.
        alpha: the chance of an error.
        failures: that there may be.
    """
    low, high = failures, failures + 1
    while chance_of_so_few(failures, high, share) > alpha:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if chance_of_so_few(failures, middle, share) > alpha else (low, middle)
    return high
