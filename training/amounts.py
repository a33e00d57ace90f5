"""Amounts that no shipped task has."""

from __future__ import annotations

from random import Random

from training.shipped import AMOUNTS


def liters_of(rng: Random, most: float) -> float:
    """Return an amount of water, l; whole ones are the more frequent, the more there can be."""
    while True:
        step = rng.choice((0.5, 0.5, 0.25, 0.1, 0.01, 1.0, *([1.0] * int(most / 4))))
        liters = number(round(step * rng.randint(1, max(1, int(most / step))), 2))
        if liters not in AMOUNTS:
            return liters


def ml_of(rng: Random, most: float) -> float:
    """Return an amount of pesticide, ml."""
    while True:
        draws = (
            5 * rng.randint(1, int(most / 5)),
            10 * rng.randint(1, int(most / 10)),
            10 * rng.randint(1, int(most / 10)),
            rng.randint(5, int(most)),
            rng.randint(1, 1000) / 10,
        )
        ml = number(rng.choice(draws))
        if ml not in AMOUNTS:
            return ml


def number(value: float) -> float:
    """Format a number as prompts do: 3, not 3.0."""
    return int(value) if value == int(value) else value
