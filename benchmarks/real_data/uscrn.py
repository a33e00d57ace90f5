"""Text files of the U.S. Climate Reference Network: hourly (CRNH0203) and daily (CRND0103).

Both are columns of text without a header, described in the `readme.txt` beside them at
https://www.ncei.noaa.gov/pub/data/uscrn/products/ (hourly02, daily01). Soil columns have passed the network's
own quality control: what failed it is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from benchmarks.real_data.station import DataError, Floats, Station

DEPTHS = (0.05, 0.10, 0.20, 0.50, 1.00)
LEAST_RAIN, LEAST_MOISTURE, LEAST_TEMPERATURE = 0.0, 0.0, -90.0
"""Missing values, -9999 and -99, are below these."""


@dataclass(frozen=True)
class Layout:
    """Index of the first column of each quantity."""

    columns: int
    rain: int
    moisture: int
    temperature: int
    hourly: bool

    def end(self, fields: list[str]) -> datetime:
        """Return the end of a line's interval: UTC of an hour, local standard time of a day."""
        if self.hourly:
            return datetime.strptime(fields[1] + fields[2], "%Y%m%d%H%M")
        return datetime.strptime(fields[1], "%Y%m%d") + timedelta(days=1)


LAYOUTS = {38: Layout(38, 12, 28, 33, hourly=True), 28: Layout(28, 9, 18, 23, hourly=False)}


def read_uscrn(path: Path) -> Station:
    """Read a yearly file of one station.

    Raises:
        DataError: a line has neither 38 nor 28 columns, or a value is no number or no date.
    """
    times: list[datetime] = []
    rows: list[list[float]] = []
    layout: Layout | None = None
    for number, line in enumerate(path.read_text(encoding="ascii", errors="replace").splitlines(), 1):
        fields = line.split()
        if not fields:
            continue
        layout = layout or LAYOUTS.get(len(fields))
        if layout is None or len(fields) != layout.columns:
            raise DataError(
                f"{path}:{number}: {len(fields)} columns, not 38 (CRNH0203, hourly) or 28 (CRND0103, daily)"
            )
        try:
            times.append(layout.end(fields))
            soil = range(layout.moisture, layout.temperature + len(DEPTHS))
            rows.append([float(fields[layout.rain]), *(float(fields[index]) for index in soil)])
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error}") from None
    if not rows:
        raise DataError(f"{path}: no lines")
    table = np.array(rows)
    count = len(DEPTHS)
    name = path.stem.split("-", 2)[-1]
    return Station(
        name,
        tuple(times),
        _valid(table[:, 0], LEAST_RAIN),
        {depth: _valid(table[:, 1 + index], LEAST_MOISTURE) for index, depth in enumerate(DEPTHS)},
        {depth: _valid(table[:, 1 + count + index], LEAST_TEMPERATURE) for index, depth in enumerate(DEPTHS)},
    )


def _valid(values: Floats, least: float) -> Floats:
    return np.where(values < least, np.nan, values)
