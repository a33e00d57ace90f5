"""The greenhouse's initial state and the constants of its heat and moisture balance."""

from pydantic import BaseModel, ConfigDict, Field

from pathrig.world import Faults, SensorSpec


class GreenhouseState(BaseModel):
    """Temperatures in degrees Celsius, humidity as kg of water in a kg of air, power in W."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    temperature: float
    humidity: float = Field(ge=0.0)
    vent: float = Field(ge=0.0, le=1.0, description="share that it is open")
    heater: bool = False
    lamp: bool = False
    outside_temperature: float
    outside_humidity: float = Field(ge=0.0)
    sun_w: float = Field(ge=0.0, description="of the sun that stays as heat")
    heater_w: float = Field(gt=0.0)
    lamp_w: float = Field(gt=0.0)
    volume_m3: float = Field(gt=0.0)
    loss_w_per_k: float = Field(gt=0.0, description="U times A of walls and roof")
    air_changes_per_h: float = Field(gt=0.0, description="with the vent wide open")
    leak_per_h: float = Field(gt=0.0, description="air changes with the vent shut")
    heat_capacity_j_per_k: float = Field(gt=0.0, description="of air, soil and frame together")
    transpiration_kg_per_h: float = Field(ge=0.0, description="of the plants")
    too_hot: float = Field(description="leaves are damaged above it")
    too_cold: float = Field(description="growth stops below it")
    too_damp: float = Field(gt=0.0, le=1.0, description="relative humidity from which mould grows")
    sensors: dict[str, SensorSpec]
    faults: Faults = Faults()
