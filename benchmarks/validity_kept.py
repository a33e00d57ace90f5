"""The lines that `validity.py` keeps, packed for the repository: what follows from the rest is left out."""

from __future__ import annotations

import json
import lzma
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.validity_figures import DEFAULT, FLAGS, LAMBDAS, with_beta

LINE = dict[str, Any]
ALONE = ("path_correctness", "path_correctness_hlr", "efficiency", *FLAGS)
"""The metrics that do not follow from other things of a path."""
COLUMNS = (*ALONE, *(f"ktc {lam:g}" for lam in LAMBDAS[:-1]))


def read(kept: Path) -> list[LINE]:
    """Return the kept tasks, each by its last line; a line that was cut off is left out."""
    if not kept.exists():
        return []
    content = kept.read_bytes()
    if kept.suffix == ".xz":
        return unpacked(content)
    found: dict[str, LINE] = {}
    for line in content.decode().splitlines():
        with suppress(ValueError):
            one = json.loads(line)
            found[one["task"]] = one
    return list(found.values())


def seeds_of(line: Mapping[str, Any]) -> int:
    """Return with how many seeds a task was measured."""
    return len(next(iter(line["cells"].values())))


def with_equal_seeds(lines: Iterable[LINE]) -> list[LINE]:
    """Return the tasks in order, each with the first seeds, as many as all have."""
    ordered = sorted(lines, key=lambda line: str(line["task"]))
    seeds = min(map(seeds_of, ordered), default=0)
    return [_cut(line, seeds) for line in ordered]


def _cut(line: LINE, seeds: int) -> LINE:
    """Return a task as it is measured with fewer seeds."""
    new: dict[int, int] = {}
    cells = {
        key: [new.setdefault(path, len(new)) for path in own[:seeds]] for key, own in line["cells"].items()
    }
    return {**line, "paths": [line["paths"][path] for path in new], "cells": cells}


def packed(lines: Sequence[LINE]) -> bytes:
    """Return the lines by columns; `unpacked` gives the same lines again.

    Raises:
        ValueError: a line does not follow from its columns.
    """
    rows = [[_row(path) for path in line["paths"]] for line in lines]
    counts = Counter(value for own in rows for row in own for value in row)
    number = {value: place for place, (value, _) in enumerate(counts.most_common())}
    content = {
        "tasks": [line["task"] for line in lines],
        "worlds": [line["world"] for line in lines],
        "keys": list(lines[0]["cells"]),
        "cells": [[_as_new(line["cells"].values())] for line in lines],
        "harm": [[path["harm"] for path in line["paths"]] for line in lines],
        "values": list(number),
        **{name: [[number[row[place]] for row in own] for own in rows] for place, name in enumerate(COLUMNS)},
    }
    whole = lzma.compress(json.dumps(content, separators=(",", ":")).encode(), preset=lzma.PRESET_EXTREME | 9)
    if unpacked(whole) != list(lines):
        raise ValueError("the lines hold what their columns do not tell")
    return whole


def unpacked(whole: bytes) -> list[LINE]:
    """Return the lines that were packed."""
    content = json.loads(lzma.decompress(whole))
    values, found = content["values"], []
    for place, task in enumerate(content["tasks"]):
        columns = ([values[one] for one in content[name][place]] for name in COLUMNS)
        paths = [_path(harm, row) for harm, *row in zip(content["harm"][place], *columns, strict=True)]
        cells = _cells(content["cells"][place][0], content["keys"])
        found.append({"task": task, "world": content["worlds"][place], "paths": paths, "cells": cells})
    return found


def _row(path: Mapping[str, Any]) -> list[float | None]:
    """Return a path's columns; PC-KTC between the two ends of lambda is left out where it is between them."""
    first, last = path["ktc"][0], path["ktc"][-1]
    inner = zip(LAMBDAS[1:-1], path["ktc"][1:-1], strict=True)
    ktc = [None if one == _between(first, last, lam) else one for lam, one in inner]
    return [*(path[name] for name in ALONE), first, *ktc]


def _path(harm: str, row: Sequence[Any]) -> LINE:
    own = dict(zip(ALONE, row, strict=False))
    first, *inner = row[len(ALONE) :]
    last = own["path_correctness"]
    ktc = [
        _between(first, last, lam) if one is None else one
        for lam, one in zip(LAMBDAS[1:-1], inner, strict=True)
    ]
    ktc = [first, *ktc, last]
    return {
        "path_correctness": last,
        "pc_ktc": ktc[LAMBDAS.index(DEFAULT)],
        "prefix_criticality": with_beta(harm, DEFAULT),
        "harmful_call_rate": harm.count("1") / len(harm) if harm else 0.0,
        **{name: own[name] for name in ("efficiency", "path_correctness_hlr", *FLAGS)},
        "harm": harm,
        "ktc": ktc,
    }


def _between(first: float, last: float, lam: float) -> float:
    return lam * last + (1.0 - lam) * first


def _as_new(cells: Iterable[Sequence[int]]) -> list[int]:
    """Return the paths of all cells: -1 for one that is the next new one, else its number."""
    found, new = [], 0
    for own in cells:
        for path in own:
            found.append(-1 if path == new else path)
            new += path == new
    return found


def _cells(coded: Sequence[int], keys: Sequence[str]) -> dict[str, list[int]]:
    paths, new = [], 0
    for one in coded:
        paths.append(new if one < 0 else one)
        new += one < 0
    seeds = len(paths) // len(keys)
    return {key: paths[place * seeds : (place + 1) * seeds] for place, key in enumerate(keys)}
