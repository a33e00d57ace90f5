"""The farm rover's own sensors: the coarse ones that every rover has, and finer ones that may be fitted."""

from __future__ import annotations

from pydantic import Field

from devices.models import StrictModel
from devices.sensors import SensorSpec


class Sensors(StrictModel):
    """Specification of each kind of sensor. Those with default None are only fitted if given."""

    moisture: SensorSpec = Field(description="wet or dry, at each plant: root-zone moisture, m3/m3")
    water_tank_low: SensorSpec = Field(description="low below its threshold: content of the tank, L")
    pesticide_tank_low: SensorSpec = Field(description="low below its threshold: content of the tank, ml")
    hopper_full: SensorSpec = Field(description="light barrier near the hopper's brim, a truth value")
    battery: SensorSpec = Field(description="charge, 0 to 1")
    bumper: SensorSpec = Field(description="force of contact with an obstacle, N")
    runoff: SensorSpec = Field(description="float switch in a sump at each plant: water run off, L")
    pose_reached: SensorSpec = Field(description="whether the rover rests where it was sent, a truth value")
    flow_meter: SensorSpec | None = Field(default=None, description="finer: water leaving the hose, L/s")
    tank_level: SensorSpec | None = Field(default=None, description="finer: load cell of the water tank, L")
    moisture_probe: SensorSpec | None = Field(
        default=None, description="finer: root-zone moisture at each plant as a number, m3/m3"
    )
    imu: SensorSpec | None = Field(
        default=None, description="finer: peak shock since the last sample, force of contact over mass, m/s2"
    )
    person_near: SensorSpec | None = Field(
        default=None, description="finer: infrared; whether a person is within rover.infrared_range_m"
    )
    person_distance: SensorSpec | None = Field(
        default=None, description="finer: radar; distance of the person, m; its `high` if there is none"
    )
    leaf_wetness: SensorSpec | None = Field(
        default=None, description="finer: at each plant, pesticide on its leaves, ml"
    )
    fruit_scale: SensorSpec | None = Field(
        default=None, description="finer: load cell of the hopper, in plants' worth of fruit"
    )
    battery_gauge: SensorSpec | None = Field(
        default=None, description="finer: coulomb counter, charge, 0 to 1"
    )
    position: SensorSpec | None = Field(
        default=None, description="finer: satellite receiver; the rover's x and y in the field, m"
    )

    @property
    def report_people(self) -> bool:
        """Whether one of them reports at once how near a person is: one without a period."""
        return any(one is not None and one.period is None for one in (self.person_near, self.person_distance))
