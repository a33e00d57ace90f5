"""A station of a soil-moisture network: rain, soil moisture and soil temperature by depth, over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FROZEN_C = 0.0
"""Probes measure liquid water only: at this soil temperature and below a reading does not count."""


class DataError(ValueError):
    """A file of measured data cannot be used; the message names it, and says what to do."""


@dataclass(frozen=True)
class Station:
    """Series of one station; nan where nothing valid was measured.

    Attributes:
        name: of the station.
        times: end of each interval, UTC or the station's own time, ascending.
        rain: in the interval, mm.
        moisture: at each depth, m: volumetric, m3/m3.
        temperature: of the soil at each depth, m: degrees Celsius.
    """

    name: str
    times: tuple[datetime, ...]
    rain: Floats
    moisture: Mapping[float, Floats]
    temperature: Mapping[float, Floats]

    def between(self, start: datetime | None, end: datetime | None) -> Station:
        """Return the part from `start` on, until before `end`."""
        kept = [
            index
            for index, time in enumerate(self.times)
            if (start is None or time >= start) and (end is None or time < end)
        ]
        return Station(
            self.name,
            tuple(self.times[index] for index in kept),
            self.rain[kept],
            {depth: values[kept] for depth, values in self.moisture.items()},
            {depth: values[kept] for depth, values in self.temperature.items()},
        )

    def root_zone(self, depth: float) -> Floats:
        """Return the mean moisture of the probes down to `depth`, m; nan where one is missing or frozen."""
        probes = [probe for probe in self.moisture if probe <= depth]
        if not probes:
            known = ", ".join(f"{probe:g}" for probe in sorted(self.moisture)) or "none"
            raise DataError(f"{self.name}: no moisture probe down to {depth:g} m; there are {known}")
        columns = []
        for probe in probes:
            values = self.moisture[probe].copy()
            if probe in self.temperature:
                values[self.temperature[probe] <= FROZEN_C] = np.nan
            columns.append(values)
        return np.asarray(np.mean(columns, axis=0), np.float64)
