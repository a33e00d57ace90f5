"""Hidden parameters of an arm and its bench: deviations from the controller's model."""

from __future__ import annotations

from devices.hidden import hidden
from devices.models import FrozenModel


class BenchHidden(FrozenModel):
    """Hidden parameters of a bench; all nominal, the physics is that of the world as written."""

    friction: float = hidden(1.0, 0.6, 1.4, "factor on the sliding friction of every object")
    mass: float = hidden(1.0, 0.8, 1.25, "factor on the mass of every object")
    grip_force: float = hidden(1.0, 0.7, 1.2, "force of the fingers over the commanded force")
    sensor_noise: float = hidden(1.0, 0.5, 2.0, "factor on the noise of every sensor", "log")
    dropout: float = hidden(0.0, 0.0, 0.1, "share of the sensors' samples that are lost")
