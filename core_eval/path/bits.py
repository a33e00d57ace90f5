"""Integers as rows of bits."""

from __future__ import annotations


def repeated(bits: int, width: int, times: int) -> int:
    """Give `bits` repeated so many times, `width` bits apart."""
    return bits * (((1 << width * times) - 1) // ((1 << width) - 1))
