"""Files (`.stm`) of the International Soil Moisture Network, in both formats.

One file holds one variable of one sensor. Its name has the variable and the depths:
`CSE_Network_Station_VARIABLE_FROM_TO_sensor..._START_END.stm`.

- Header and values: a line of CSE, network, station, latitude, longitude, elevation, depths (from, to) and
  sensor; then lines of UTC date, time, value, the network's quality flags, and the provider's flag.
- CEOP: each line has nominal and actual UTC date and time, then the fields of that header, the value and
  both flags.

Described at https://ismn.earth/en/data/. Only values flagged G (good) count, unless other flags are accepted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from benchmarks.real_data.station import DataError, Floats, Station

NAME = re.compile(
    r"_(?P<variable>sm|p|ts|Soil-Moisture|Precipitation|Soil-Temperature)_(?P<top>-?\d+\.\d+)_(?P<bottom>-?\d+\.\d+)_"
)
SHORT = {"Soil-Moisture": "sm", "Precipitation": "p", "Soil-Temperature": "ts"}
GOOD = frozenset({"G"})
TIME = re.compile(r"\d{4}/\d{2}/\d{2} \d{2}:\d{2}$")
CEOP_FIELDS = 14
"""Two dates and times, three names, three coordinates, two depths, value, flag; the provider's may follow."""


@dataclass(frozen=True)
class Sensor:
    """One file.

    Attributes:
        station: network and station.
        variable: sm, p or ts.
        depth: middle of the sensed layer, m.
        values: by time; nan where a flag is not accepted.
    """

    station: str
    variable: str
    depth: float
    values: dict[datetime, float]


def read_ismn(paths: Sequence[Path], accept: Collection[str] = GOOD) -> Station:
    """Join the files of one station. The times are those of its moisture files.

    Args:
        paths: `.stm` files; of several sensors at one depth the first counts.
        accept: quality flags; a value counts if it has only these.

    Raises:
        DataError: a name or a line is not in the format; stations differ; moisture or rain is missing; no
            value has an accepted flag; moisture is in percent.
    """
    sensors = [_read(path, frozenset(accept)) for path in paths]
    names = sorted({sensor.station for sensor in sensors})
    if len(names) != 1:
        raise DataError(f"files of {len(names)} stations ({', '.join(names)}); name those of one")
    moisture = [sensor for sensor in sensors if sensor.variable == "sm"]
    rain = [sensor for sensor in sensors if sensor.variable == "p"]
    if not moisture or not rain:
        raise DataError(f"{names[0]}: needs files of soil moisture (_sm_) and of precipitation (_p_)")
    times = tuple(sorted({time for sensor in moisture for time in sensor.values}))
    layers: dict[str, dict[float, Floats]] = {"sm": {}, "ts": {}}
    for sensor in sensors:
        if sensor.variable in layers:
            layers[sensor.variable].setdefault(sensor.depth, _at(sensor, times))
    return Station(names[0], times, _at(rain[0], times), layers["sm"], layers["ts"])


def _at(sensor: Sensor, times: Sequence[datetime]) -> Floats:
    return np.array([sensor.values.get(time, np.nan) for time in times])


def _read(path: Path, accept: frozenset[str]) -> Sensor:
    found = NAME.search(path.name)
    if found is None:
        raise DataError(f"{path}: its name has no variable sm (moisture), p (rain) or ts (temperature)")
    variable = SHORT.get(found["variable"], found["variable"])
    values: dict[datetime, float] = {}
    seen: set[str] = set()
    stations: set[str] = set()
    for number, station, time, text, flags in _records(path):
        own = frozenset(flags.split(","))
        seen |= own
        stations.add(station)
        try:
            value = float(text)
        except ValueError:
            raise DataError(f"{path}:{number}: the value {text!r} is no number") from None
        values[time] = value if own <= accept else float("nan")
    good = [value for value in values.values() if value == value]
    if not good:
        raise DataError(
            f"{path}: no value with an accepted flag (--accept); flags: {', '.join(sorted(seen)) or 'none'}"
        )
    if variable == "sm" and max(good) > 1.0:
        raise DataError(f"{path}: moisture up to {max(good):g}: in percent? Download it again in m3/m3")
    depth = (float(found["top"]) + float(found["bottom"])) / 2.0
    return Sensor(min(stations), variable, depth, values)


def _records(path: Path) -> Iterator[tuple[int, str, datetime, str, str]]:
    """Yield line number, station, actual time, value and flags of each record."""
    station: str | None = None
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        fields = line.split()
        if not fields:
            continue
        if number == 1 and not TIME.match(" ".join(fields[:2])):
            if len(fields) < 8:
                raise DataError(f"{path}:1: a header has at least 8 fields, this one {len(fields)}")
            station = f"{fields[1]}/{fields[2]}"
            continue
        ceop = TIME.match(" ".join(fields[2:4])) is not None
        if len(fields) < (CEOP_FIELDS if ceop else 4) or (station is None and not ceop):
            raise DataError(f"{path}:{number}: neither a record of header and values nor of CEOP")
        date, value = (fields[2:4], fields[12:14]) if ceop else (fields[:2], fields[2:4])
        try:
            time = datetime.strptime(" ".join(date), "%Y/%m/%d %H:%M")
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error}") from None
        yield number, f"{fields[5]}/{fields[6]}" if ceop else station or "", time, value[0], value[1]
