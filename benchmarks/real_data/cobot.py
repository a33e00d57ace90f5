"""The UR3 CobotOps data: a row a second of a cobot that picks and places, with labelled stops and lost grips.

M. Tyrovolas, K. Aliev, D. Antonelli, C. Stylios, "UR3 CobotOps", UCI Machine Learning Repository, 2024,
https://doi.org/10.24432/C5J891, CC BY 4.0. UCI has it as a spreadsheet; save it as CSV. Both kinds of CSV are
read: semicolons with decimal commas, and commas with decimal points.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.real_data.station import DataError, Floats

JOINTS = range(6)
CURRENTS = tuple(f"Current_J{joint}" for joint in JOINTS)
SPEEDS = tuple(f"Speed_J{joint}" for joint in JOINTS)
TEMPERATURES = ("Temperature_T0", *(f"Temperature_J{joint}" for joint in JOINTS if joint))
TOOL = "Tool_current"
SIGNALS = (*CURRENTS, *SPEEDS, *TEMPERATURES, TOOL)
LABELS = ("Robot_ProtectiveStop", "grip_lost")
WORDS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
XLSX = b"PK\x03\x04"


@dataclass(frozen=True)
class Recording:
    """The rows that have all signals and labels, in the order of the file.

    Attributes:
        number: of each row in the file; a step above 1 is a gap.
        signals: by name: A, rad/s, degrees Celsius.
        labels: by name, whether the event is on.
        dropped: rows left out.
    """

    number: NDArray[np.int64]
    signals: Mapping[str, Floats]
    labels: Mapping[str, NDArray[np.bool_]]
    dropped: int


def read_cobot(path: Path) -> Recording:
    """Read the CSV.

    Raises:
        DataError: it is a spreadsheet, lacks a column, has a cell that is no number, or no complete row.
    """
    with path.open("rb") as raw:
        if raw.read(4) == XLSX:
            raise DataError(f"{path}: a spreadsheet; save it as CSV (soffice --convert-to csv {path.name})")
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline()
        file.seek(0)
        semicolons = first.count(";") > first.count(",")
        lines = csv.reader(file, delimiter=";" if semicolons else ",")
        names = [name.strip() for name in next(lines, [])]
        missing = [name for name in (*SIGNALS, *LABELS) if name not in names]
        if missing:
            raise DataError(f"{path}: no column {', '.join(missing)}; UR3 CobotOps has them")
        wanted = {name: names.index(name) for name in (*SIGNALS, *LABELS)}
        numbers: list[int] = []
        rows: list[list[float]] = []
        flags: list[list[bool]] = []
        number = -1
        for number, line in enumerate(lines):
            cells = {name: line[at].strip() if at < len(line) else "" for name, at in wanted.items()}
            if not all(cells.values()):
                continue
            try:
                rows.append([_number(cells[name], semicolons) for name in SIGNALS])
                flags.append([WORDS[cells[name].lower()] for name in LABELS])
            except (KeyError, ValueError) as error:
                raise DataError(f"{path}:{lines.line_num}: no number or truth value: {error}") from None
            numbers.append(number)
    if not rows:
        raise DataError(f"{path}: no row has all signals and labels")
    table, marks = np.array(rows), np.array(flags)
    return Recording(
        np.array(numbers),
        {name: table[:, at] for at, name in enumerate(SIGNALS)},
        {name: marks[:, at] for at, name in enumerate(LABELS)},
        number + 1 - len(rows),
    )


def _number(cell: str, comma: bool) -> float:
    return float(cell.replace(",", ".") if comma else cell)
