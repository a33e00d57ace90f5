"""Hidden parameters of a farm rover and its field: factors and shares about the nominal values."""

from __future__ import annotations

from devices.hidden import hidden
from devices.models import StrictModel


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
