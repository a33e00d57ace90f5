"""The farm rover's world: the whole initial state of field and rover, and the constants of its physics.

Lengths in metres, angles in radians, water in litres, pesticide in millilitres, moisture in m3 of water per
m3 of soil. The shipped values are in `configs/worlds/farm_rover.yaml`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Self

from pydantic import Field, field_validator, model_validator

from devices.farm_rover.sensor_set import Sensors
from devices.farm_rover.soil_texture import TEXTURES, Texture, drainage_s
from devices.farm_rover.surroundings import Person, Shower, Wind
from devices.faults import FaultKind, Faults
from devices.hidden import hidden
from devices.models import DerivingModel, StrictModel

FARM_FAULTS = (
    FaultKind("wheel_slip", "a wheel slips; the strength is the lost share of its travel", share=True),
    FaultKind(
        "clogged_nozzle", "the nozzle is clogged; the strength is the lost share of the flow", share=True
    ),
    FaultKind("stuck_valve", "a valve does not close; the strength is the share that flows on", share=True),
)


class Hidden(StrictModel):
    """Deviations of this rover and this field from the controller's model.

    The controller uses nominal values: it runs a pump for dose over nominal flow, and books the content of
    its tanks and its hopper by the requested doses and harvests.
    """

    water_flow: float = hidden(1.0, 0.8, 1.2, "of the water pump, as a factor on rover.water_flow")
    pesticide_flow: float = hidden(1.0, 0.8, 1.2, "of the sprayer, as a factor on rover.pesticide_flow")
    infiltration: float = hidden(1.0, 0.5, 2.0, "of the soil, as a factor on soil.conductivity_mm_h", "log")
    drainage: float = hidden(
        1.0, 0.5, 2.0, "rate of drainage above field capacity, a factor on 1 / soil.drainage_s", "log"
    )
    slip: float = hidden(0.0, 0.0, 0.1, "lost share of the wheels' travel")
    draw: float = hidden(1.0, 0.8, 1.2, "of the battery, as a factor on all charges of motion and pumps")
    fruit_size: float = hidden(1.0, 0.8, 1.2, "of a plant's fruit, as a factor on plants.NAME.fruit")
    moisture_noise: float = hidden(1.0, 0.5, 2.0, "factor on the noise of the moisture sensors", "log")
    dropout: float = hidden(0.0, 0.0, 0.1, "further share of each sensor's periodic samples that is lost")


STATIONS = ("base", "collection_bin", "water_station", "pesticide_refill", "charging_pad")

LONGEST_SETTLING_S, LONGEST_HOSE_LAG_S = 1e6, 600.0
"""Maximum settling time and hose lag of an episode."""

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
NotNegative = Annotated[float, Field(ge=0.0)]


class Size(StrictModel):
    """The field, from (0, 0) to (width, height), m."""

    width: Positive
    height: Positive


class Pose(StrictModel):
    """A place and a heading, 0 east."""

    x: float
    y: float
    yaw: float = 0.0


class WaterTank(StrictModel):
    """The rover's water tank, litres; the station fills it at its own rate, L/s."""

    liters: NotNegative
    capacity_liters: Positive
    refill_liters_per_s: Positive

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.liters > self.capacity_liters:
            raise ValueError("liters must not be above capacity_liters")
        return self


class PesticideTank(StrictModel):
    """The rover's pesticide tank, ml; the station fills it at its own rate, ml/s."""

    ml: NotNegative
    capacity_ml: Positive
    refill_ml_per_s: Positive

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.ml > self.capacity_ml:
            raise ValueError("ml must not be above capacity_ml")
        return self


class Hopper(StrictModel):
    """The fruit hopper, in plants' worth of fruit: the rover counts plants, not their true yield."""

    fruit: Annotated[int, Field(ge=0)]
    capacity: Annotated[int, Field(ge=1)]
    heaped_share: Positive = Field(
        default=1.1, description="of its capacity that can be heaped in it before fruit falls off"
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.fruit > self.capacity:
            raise ValueError("fruit must not be above capacity")
        return self


class Plant(Pose):
    """A plant and the soil under it; an added plant needs only its position."""

    moisture: Fraction = Field(default=0.12, description="of the root zone, m3/m3")
    surface_liters: NotNegative = Field(default=0.0, description="water that stands on the soil, L")
    ripe: bool = True
    pests: bool = True
    pesticide_ml: NotNegative = Field(default=0.0, description="sprayed on it so far, ml")
    moisture_limit: Fraction | None = Field(
        default=None,
        description="roots lack air above it, m3/m3; none: soil.air_share below soil.saturation",
    )
    tolerance_s: NotNegative = Field(
        default=21600.0, description="how long roots tolerate that, or standing water, s"
    )
    pesticide_limit_ml: Positive = Field(default=100.0, description="the label's dose, ml")
    residue_ml: NotNegative = Field(
        default=1.0, description="of pesticide at once, from which on the label forbids a harvest for a while"
    )
    pre_harvest_interval_s: NotNegative = Field(default=604800.0, description="that while, s")
    sprayed_s_ago: NotNegative | None = Field(
        default=None, description="how long before the start it was last sprayed, s; none: long ago"
    )
    fruit: NotNegative = Field(default=1.0, description="that it bears, in plants' worth")
    ripens_at_s: NotNegative | None = Field(
        default=None, description="device time at which its fruit ripens, s; none: it stays as it is"
    )
    wilts_at_s: NotNegative | None = Field(
        default=None, description="device time by which it needs water, s; none: it bears the drought"
    )


class Bed(StrictModel):
    """A strip that the rover must not drive over: a bed, or ground to keep out of."""

    x_min: float
    x_max: float
    y_min: float
    y_max: float

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.x_min >= self.x_max or self.y_min >= self.y_max:
            raise ValueError("x_min must be below x_max, and y_min below y_max")
        return self


class WetGround(Bed):
    """Ground that is wet at the start, and dries: wheels compact it until then."""

    moisture: Fraction = Field(description="at the start, m3/m3")


class Obstacle(StrictModel):
    """A round obstacle on the field."""

    x: float
    y: float
    radius: Positive


class WaterPump(StrictModel):
    """A centrifugal water pump on the battery; `sims.farm_rover.pump_curve` explains its flow."""

    shutoff_head_m: Positive = Field(description="head without flow, with a full battery, m")
    lift_m: NotNegative = Field(description="of the nozzle above the level of a full tank, m")
    tank_height_m: NotNegative = Field(description="from a full tank's level to an empty one's, m")
    full_v: Positive = Field(description="of a full battery, V")
    empty_v: Positive = Field(description="of an empty battery, V; linear in its charge between")

    @model_validator(mode="after")
    def _lifts(self) -> Self:
        if self.lift_m >= self.shutoff_head_m:
            raise ValueError("lift_m must be below shutoff_head_m")
        if self.empty_v > self.full_v:
            raise ValueError("empty_v must not be above full_v")
        return self


class Rover(StrictModel):
    """The rover's body, drive and behaviour."""

    radius: Positive = Field(description="of its footprint, m")
    mass: Positive = Field(description="kg")
    contact_stiffness: Positive = Field(description="force of contact over the overlap of footprints, N/m")
    side_slip: NotNegative = Field(
        description="drift to the left over slip along the path, as on ground that falls to the left"
    )
    infrared_range_m: Positive = Field(description="of the person sensor, where it is fitted")
    people_range_m: Positive = Field(default=12.0, description="of the scanner for people, m")
    people_scan_s: Positive = Field(
        default=2.0, description="in which the scanner tells people from posts, s"
    )
    clearance: NotNegative = Field(description="kept beyond its footprint when it plans, m")
    reach: Positive = Field(description="of its tools, from its centre to a plant's or a station's, m")
    speed: Positive = Field(description="m/s")
    acceleration: Positive = Field(description="m/s2")
    turn_rate: Positive = Field(description="rad/s")
    turn_acceleration: Positive = Field(description="rad/s2")
    drive_charge_per_m: NotNegative = Field(description="share of the battery for a metre")
    turn_charge_per_rad: NotNegative = Field(description="share of the battery for a radian")
    pump_charge_per_s: NotNegative = Field(description="share of the battery for a second of pumping")
    battery_reserve: Fraction = Field(description="share of the battery that shall always be left")
    charging_per_s: Positive = Field(description="share of the battery that a second of charging adds")
    water_flow: Positive = Field(description="of the pump, L/s; with a pump curve, full tank and battery")
    water_pump: WaterPump | None = Field(default=None, description="its curve; none: a constant flow")
    pesticide_flow: Positive = Field(description="of the sprayer, ml/s")
    hose_lag_s: Positive = Field(
        le=LONGEST_HOSE_LAG_S,
        description="in which the flow at the nozzle comes and goes after its pump, s; in steps of a quarter",
    )
    effective_dose_ml: Positive = Field(description="of pesticide, that rids a plant of its pests, ml")
    harvest_s: Positive
    dump_s: Positive
    spill_limit_liters: NotNegative = Field(
        default=0.1, description="water that may fall on bare ground while the rover stands, L"
    )
    switch_s: Positive = Field(description="to lock or to unlock, s")
    read_s: Positive = Field(description="of a reading, s")


class Soil(DerivingModel):
    """The soil under every plant: a surface store above a root zone, as `sims.farm_rover.soil` explains.

    What is left out is that of the texture class (`devices.farm_rover.soil_texture`).
    """

    texture: Texture = Field(
        default="loam", description="class whose published means hold where a value is left out"
    )
    area: Positive = Field(description="that the rover wets round a plant, m2")
    root_depth: Positive = Field(description="m")
    slope: NotNegative = Field(default=0.0, description="of the ground, rise over run; basins hold less")
    wilting_point: Fraction
    field_capacity: Fraction
    saturation: Fraction
    conductivity_mm_h: Positive = Field(description="hydraulic conductivity behind the wetting front, mm/h")
    suction_mm: NotNegative = Field(description="suction head at the wetting front, mm")
    depletion_fraction: Annotated[float, Field(ge=0.0, lt=1.0)] = Field(description="p of FAO-56 eq. 83")
    evapotranspiration: NotNegative = Field(description="of the crop under standard conditions, mm/day")
    drainage_s: Positive = Field(description="time constant of drainage above field capacity, s")
    air_share: Fraction = Field(
        default=0.05, description="air in the root zone below which roots lack oxygen (AquaCrop), m3/m3"
    )
    bearing_margin: Positive = Field(
        default=0.02, description="moisture above field capacity up to which ground bears the rover, m3/m3"
    )
    rim_mm: Positive = Field(description="height of the basin round a plant; what stands higher runs off")
    pond_limit_mm: Positive = Field(description="standing water above it keeps air from the roots")
    leaching_limit_liters: NotNegative = Field(
        description="water that may percolate below a plant's roots, L; the rest takes nutrients along"
    )
    runoff_limit_liters: NotNegative = Field(description="water that may run off a plant's basin, L")

    @classmethod
    def derive(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what the texture class has, and the drainage that follows from the conductivity."""
        published = TEXTURES.get(str(given.get("texture", "loam")))
        if published is None:
            return {}
        conductivity = given.get("conductivity_mm_h", published.conductivity_mm_h)
        if not isinstance(conductivity, float | int) or conductivity <= 0:
            return asdict(published)
        return {**asdict(published), "drainage_s": drainage_s(conductivity)}

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not 0 <= self.wilting_point < self.field_capacity < self.saturation:
            raise ValueError("needs wilting_point < field_capacity < saturation")
        return self

    @property
    def brim_liters(self) -> float:
        """Water that a basin holds, L: its surface is level, so the lower side of its rim overflows first.

        A round basin; where the slope is steep, the water does not reach its upper side.
        """
        radius, rise = math.sqrt(self.area / math.pi), 1000.0 * self.slope
        if 2.0 * radius * rise <= self.rim_mm:
            return (self.rim_mm - rise * radius) * self.area
        # A cylindrical wedge; the angle is half of the central one of the wetted arc.
        angle = math.acos(1.0 - self.rim_mm / rise / radius)
        sine = math.sin(angle)
        return rise * radius**3 * (sine - sine**3 / 3.0 - angle * math.cos(angle))

    @property
    def stress_moisture(self) -> float:
        """Moisture below which a crop takes up less water than it needs (FAO-56, eq. 82), m3/m3."""
        return self.field_capacity - self.depletion_fraction * (self.field_capacity - self.wilting_point)

    def dries_at(self, moisture: float) -> float:
        """Return the device time at which wet ground of this moisture at the start bears the rover, s."""
        above = (moisture - self.field_capacity) / self.bearing_margin
        return self.drainage_s * math.log(above) if above > 1.0 else 0.0

    def limit_of(self, plant: Plant) -> float:
        """Return the moisture above which a plant's roots lack air, m3/m3."""
        if plant.moisture_limit is not None:
            return plant.moisture_limit
        return self.saturation - self.air_share


class FarmWorld(StrictModel):
    """The initial state of the farm world; every key may be overridden."""

    field: Size
    pose: Pose
    safety_locked: bool
    battery: Fraction
    water_tank: WaterTank
    pesticide_tank: PesticideTank
    hopper: Hopper
    plants: dict[str, Plant]
    stations: dict[str, Pose]
    beds: dict[str, Bed]
    obstacles: dict[str, Obstacle]
    keep_out: dict[str, Bed] = Field(default={})
    wet_ground: dict[str, WetGround] = Field(default={})
    wind: Wind
    person: Person = Person()
    rain: list[Shower] = Field(default=[], description="the forecast; it falls on the plants' basins")
    rover: Rover
    soil: Soil
    sensors: Sensors
    hidden: Hidden = Hidden()
    faults: Faults = Faults()
    settling_s: NotNegative = Field(
        le=LONGEST_SETTLING_S, description="waited after the last call, for effects that lag, s"
    )

    @field_validator("faults")
    @classmethod
    def _can_have(cls, faults: Faults) -> Faults:
        return faults.of_a("farm_rover", FARM_FAULTS)

    @model_validator(mode="after")
    def _has_stations(self) -> Self:
        missing = [name for name in STATIONS if name not in self.stations]
        if missing:
            raise ValueError(f"stations lacks {', '.join(missing)}")
        return self

    @model_validator(mode="after")
    def _holds_its_water(self) -> Self:
        brim = self.soil.brim_liters
        for name, plant in self.plants.items():
            if plant.moisture > self.soil.saturation:
                raise ValueError(f"plants.{name}.moisture must not be above soil.saturation")
            if plant.surface_liters > brim:
                raise ValueError(
                    f"plants.{name}.surface_liters must not be above the {brim:g} L of its basin"
                )
        return self


def distance(a: Pose, b: Pose) -> float:
    """Return the distance between two places, m."""
    return math.hypot(a.x - b.x, a.y - b.y)
