"""A station's series as plain CSV, such as one exports from USDA SCAN: `time,rain_mm,moisture_0.05,...`.

Columns: `time` (ISO 8601, end of the interval), `rain_mm`, `moisture_DEPTH` (m3/m3) and `temperature_DEPTH`
(degrees Celsius) for each depth in m. An empty cell is missing.
"""

from __future__ import annotations

import csv
from datetime import datetime
from pathlib import Path

import numpy as np

from benchmarks.real_data.station import DataError, Floats, Station


def read_csv(path: Path) -> Station:
    """Read the file.

    Raises:
        DataError: a column is missing or unknown, or a cell is no number or no time.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        names = reader.fieldnames or []
        if "time" not in names or "rain_mm" not in names:
            raise DataError(f"{path}: needs the columns time, rain_mm and moisture_DEPTH")
        depths = {name: _depth(path, name) for name in names if name not in ("time", "rain_mm")}
        times: list[datetime] = []
        columns: dict[str, list[float]] = {name: [] for name in names if name != "time"}
        for row in reader:
            try:
                times.append(datetime.fromisoformat(row["time"]))
                for name, values in columns.items():
                    values.append(float(row[name]) if row[name] else float("nan"))
            except (TypeError, ValueError) as error:
                raise DataError(f"{path}:{reader.line_num}: {error}") from None
    layers: dict[str, dict[float, Floats]] = {"moisture": {}, "temperature": {}}
    for name, (kind, depth) in depths.items():
        layers[kind][depth] = np.array(columns[name])
    return Station(
        path.stem, tuple(times), np.array(columns["rain_mm"]), layers["moisture"], layers["temperature"]
    )


def _depth(path: Path, name: str) -> tuple[str, float]:
    kind, _, depth = name.partition("_")
    try:
        if kind in ("moisture", "temperature"):
            return kind, float(depth)
    except ValueError:
        pass
    raise DataError(f"{path}: column {name!r} is none of time, rain_mm, moisture_DEPTH, temperature_DEPTH")
