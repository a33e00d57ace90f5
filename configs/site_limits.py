"""When and where a rig may be driven: a geofence, hours, wind and daylight, under `site` of its file."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, time
from typing import Annotated, Any

from pydantic import Field, field_validator

from core_eval.path.calls import Call
from devices.device_type import DeviceType
from devices.models import FrozenModel
from devices.sensors import Sample
from devices.tool import Effect

HORIZON = math.radians(-0.833)
"""Elevation of the sun's centre at sunrise and sunset: refraction and the sun's radius."""
OBLIQUITY = math.radians(23.44)


class WindLimit(FrozenModel):
    """A limit of the wind."""

    sensor: str = Field(description="the sensor that reads it")
    max: float = Field(ge=0.0, description="the largest reading at which the rig may be driven")


class Daylight(FrozenModel):
    """Where the sun must be up."""

    latitude: float = Field(ge=-90.0, le=90.0, description="degrees, north is positive")
    longitude: float = Field(ge=-180.0, le=180.0, description="degrees, east is positive")


class OperatingLimits(FrozenModel):
    """Limits outside of which a call is refused before it moves anything; reading is always allowed."""

    geofence: list[tuple[float, float]] | None = Field(
        default=None, min_length=3, description="corners of the polygon that arguments x and y must lie in, m"
    )
    hours: Annotated[str, Field(pattern=r"^\d\d:\d\d-\d\d:\d\d$")] | None = Field(
        default=None, description="local time of day, such as 08:00-18:00; 20:00-06:00 spans midnight"
    )
    wind: WindLimit | None = Field(default=None, description="the largest wind, and the sensor that reads it")
    daylight: Daylight | None = Field(default=None, description="the place where the sun must be up")

    @field_validator("hours")
    @classmethod
    def _are_times(cls, hours: str | None) -> str | None:
        if hours is not None:
            _from_to(hours)
        return hours

    def refusal(self, call: Call, now: datetime, samples: Mapping[str, Sample]) -> str | None:
        """Return why a call that may move is refused now, in one line; None if it is not.

        Args:
            call: with all its arguments.
            now: with its time zone.
            samples: the last reading of each sensor.
        """
        if self.hours is not None:
            start, end = _from_to(self.hours)
            clock = now.time().replace(tzinfo=None)
            inside = start <= clock < end if start <= end else clock >= start or clock < end
            if not inside:
                return f"it is {clock:%H:%M}, and the site allows {self.hours}"
        if self.daylight is not None and sun_elevation(now, self.daylight) < HORIZON:
            return f"the sun is down at the site at {now:%H:%M}"
        if self.wind is not None:
            reading = samples.get(self.wind.sensor)
            if reading is None or not isinstance(reading.value, int | float):
                return f"there is no reading of {self.wind.sensor}, and the site allows {self.wind.max:g}"
            # A reading that is no number is above every limit.
            if not reading.value <= self.wind.max:
                return f"{self.wind.sensor} is {reading.value:g}, and the site allows {self.wind.max:g}"
        if self.geofence is not None and {"x", "y"} <= call.arguments.keys():
            x, y = call.arguments["x"], call.arguments["y"]
            if not _inside(float(x), float(y), self.geofence):
                return f"({x:g}, {y:g}) is outside the geofence of the site"
        return None

    def checker(self, device: DeviceType, samples: Mapping[str, Sample]) -> Callable[[Call], str | None]:
        """Return what tells why a call of this device is refused; a call that only reads never is."""
        reads = {tool.name for tool in device.tools if tool.effect is Effect.READ}
        return lambda call: (
            None if call.name in reads else self.refusal(call, datetime.now(UTC).astimezone(), samples)
        )


def split_site(data: dict[str, Any]) -> dict[str, Any]:
    """Return a rig file's keys with a mapping at `site` taken apart into its world and its limits."""
    site = data.get("site")
    if not isinstance(site, dict):
        return data
    limits = {key: value for key, value in site.items() if key != "world"}
    return {**data, "site": site.get("world"), "site_limits": limits}


def sun_elevation(now: datetime, place: Daylight) -> float:
    """Return the sun's elevation, rad, within some 0.5 degrees (Cooper's declination, no equation of time).

    The missing equation of time shifts sunrise and sunset by at most 16 minutes.
    """
    utc = now.astimezone(UTC)
    day = utc.timetuple().tm_yday
    declination = -OBLIQUITY * math.cos(2 * math.pi * (day + 10) / 365.25)
    hour = utc.hour + utc.minute / 60 + place.longitude / 15
    angle = math.radians(15 * (hour - 12))
    latitude = math.radians(place.latitude)
    return math.asin(
        math.sin(latitude) * math.sin(declination)
        + math.cos(latitude) * math.cos(declination) * math.cos(angle)
    )


def _from_to(hours: str) -> tuple[time, time]:
    start, _, end = hours.partition("-")
    return time.fromisoformat(start), time.fromisoformat(end)


def _inside(x: float, y: float, corners: list[tuple[float, float]]) -> bool:
    """Whether a point lies in a polygon: a ray to the right crosses its edges an odd number of times."""
    inside = False
    for (x1, y1), (x2, y2) in zip(corners, corners[1:] + corners[:1], strict=True):
        if (y1 > y) != (y2 > y) and x < x1 + (y - y1) * (x2 - x1) / (y2 - y1):
            inside = not inside
    return inside
