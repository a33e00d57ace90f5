"""Episodes drawn from a suite: each task once in a random order, then each once more with another seed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from random import Random
from typing import TypeVar

from core_eval.text.streams import STREAMS, stream

T = TypeVar("T")
Draw = tuple[T, int]
"""A task's place and a seed."""


def draws(places: Sequence[T], seed: int, first: int, count: int) -> list[Draw[T]]:
    """Return the draws number `first` to `first + count - 1` of the endless list that a seed makes.

    Any stretch of it is a sample of the suite's tasks without more repeats than it must have.
    """
    found: list[Draw[T]] = []
    for number in range(first, first + count):
        turn, place = divmod(number, len(places))
        if not found or place == 0:
            ordered = order(len(places), seed, turn)
        found.append((places[ordered[place]], seed + turn))
    return found


def order(count: int, seed: int, turn: int) -> list[int]:
    """Return the order of so many tasks in that turn of a seed's list."""
    return Random(stream(STREAMS, seed, "bench", str(turn))).sample(range(count), count)


def by_seed(drawn: Sequence[Draw[T]]) -> list[tuple[int, list[T]]]:
    """Return the places of each seed: a run has one seed for all its cells."""
    return [(seed, [place for place, _ in own]) for seed, own in groupby(drawn, key=lambda draw: draw[1])]
