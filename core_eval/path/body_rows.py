"""Rows of edit distances: of each beginning of a path to what is built up step by step."""

from __future__ import annotations

from collections.abc import Sequence

Row = list[int]


def extended(row: Row, tokens: Sequence[int], path: Sequence[int]) -> Row:
    """Return the edits of each beginning of a path to what was before and one more step, of these tokens."""
    found = [row[0] + 1]
    for place, token in enumerate(path, 1):
        found.append(min(row[place] + 1, found[-1] + 1, row[place - 1] + (token not in tokens)))
    return found


def least(one: Row, other: Row) -> Row:
    """Return the lesser of two rows, place by place."""
    return list(map(min, one, other))


def candidate_bodies(path: Sequence[int], repairs: Sequence[tuple[int, ...] | None]) -> list[Row]:
    """Return the rows of PC+HLR's candidates without their suffixes, by how many harmful calls they keep."""
    bodies: list[Row] = [list(range(len(path) + 1))]
    for token, repair in zip(path, repairs, strict=True):
        if repair is None:
            bodies = [extended(row, (token,), path) for row in bodies]
        elif repair:
            longer = [extended(row, repair, path) for row in bodies]
            bodies = [bodies[0], *map(least, bodies[1:], longer), longer[-1]]
    return bodies
