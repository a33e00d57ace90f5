"""The prices of finer sensors, read from a file that `pathrig rigs sensors --cost` names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from configs.yaml_file import load_yaml
from devices.models import FrozenModel

SENSORS_FOLDER = Path(__file__).parent / "sensors"
"""World files with every finer sensor, and the shipped prices."""
SHIPPED_PRICES = SENSORS_FOLDER / "prices.yaml"

Amount = Annotated[float, Field(ge=0.0)]


class SensorPrice(FrozenModel):
    """What one sensor of a kind costs."""

    price: Amount | tuple[Amount, Amount] = Field(description="of a part; of a range the middle counts")
    part: str = Field(default="", description="what to buy")
    source: str = Field(default="", description="the page that names the price, or `estimate`")
    pieces: int = Field(default=1, ge=1, description="parts that one sensor needs")

    @property
    def of_one(self) -> float:
        """The price of one sensor."""
        price = self.price if isinstance(self.price, float) else sum(self.price) / 2.0
        return price * self.pieces


class SensorPrices(FrozenModel):
    """A price list."""

    currency: str = Field(default="USD", description="of all prices")
    sensors: dict[str, SensorPrice] = Field(description="by kind of sensor, as in a world's `sensors`")


def load_prices(path: Path = SHIPPED_PRICES) -> SensorPrices:
    """Read a price list.

    Raises:
        ConfigError: the file cannot be read, or holds no valid list.
    """
    return load_yaml(path).validate(SensorPrices)
