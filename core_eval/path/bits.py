"""Integers as rows of bits."""

from __future__ import annotations


def repeated(bits: int, width: int, times: int) -> int:
    """Return `bits` repeated `times` times, `width` bits apart."""
    return bits * (((1 << width * times) - 1) // ((1 << width) - 1))
