"""The farm's soil beside the programs of other people: AquaCrop's drainage, FAO-56's stress factor."""

from types import SimpleNamespace

import pytest
from farm_rig import WORLD

from devices.farm_rover.world import Soil
from sims.farm_rover.soil import SoilColumn
from sims.overrides import deep_merge

pytestmark = pytest.mark.interop
DAY = 86400.0
PARTS = 200
"""Steps a day of AquaCrop's drainage, whose own step of a day is coarse for a rate of 0.4 a day."""


def column(soil: Soil, moisture: float) -> SoilColumn:
    return SoilColumn.under(WORLD.plants["plant_A"].model_copy(update={"moisture": moisture}), soil)


@pytest.mark.parametrize("texture", ["sandy loam", "loam", "clay loam"])
def test_percolation_is_that_of_aquacrop(texture: str) -> None:
    """From saturation on, one compartment of AquaCrop, of which tau is rounded to a hundredth there."""
    np = pytest.importorskip("numpy")
    drainage = pytest.importorskip("aquacrop.solution.drainage").drainage
    changed = {"texture": texture, "evapotranspiration": 0.0, "root_depth": 0.1}
    soil = Soil.model_validate(deep_merge(WORLD.soil.model_dump(), changed))
    entities = pytest.importorskip("aquacrop.entities.soil").Soil("custom", dz=[0.1])
    entities.add_layer(
        thickness=0.1,
        thWP=soil.wilting_point,
        thFC=soil.field_capacity,
        thS=soil.saturation,
        Ksat=soil.conductivity_mm_h * 24.0,
        penetrability=100,
    )
    tau = float(entities.profile.tau.iloc[0])
    assert DAY / soil.drainage_s == pytest.approx(tau, abs=0.0051)
    profile = SimpleNamespace(
        th_fc=np.array([soil.field_capacity]),
        th_s=np.array([soil.saturation]),
        tau=np.array([tau / PARTS]),
        dz=np.array([0.1]),
        dzsum=np.array([0.1]),
        Ksat=np.array([soil.conductivity_mm_h * 24.0]),
    )
    ours, theirs = column(soil, soil.saturation), np.array([soil.saturation])
    span = soil.saturation - soil.field_capacity
    percolated = 0.0
    for _ in range(5):
        for _ in range(PARTS):
            theirs, deep, _flux = drainage(profile, theirs, profile.th_fc)
            percolated += float(deep)
        ours.advance(DAY)
        assert ours.moisture == pytest.approx(float(theirs[0]), abs=0.05 * span)
    assert ours.flows.drained / soil.area == pytest.approx(percolated, rel=0.03)


def test_a_plant_dries_as_fao_56_has_it() -> None:
    """Thirty days without water, ETc 5 mm a day by a single crop coefficient; pyfao56 steps by days."""
    fao56 = pytest.importorskip("pyfao56")
    soil = WORLD.soil
    parameters = fao56.Parameters(
        Kcmini=1.0, Kcmmid=1.0, Kcmend=1.0, Kcbini=0.999999, Kcbmid=1.0, Kcbend=1.0,
        thetaFC=soil.field_capacity, thetaWP=soil.wilting_point, theta0=soil.field_capacity,
        Zrini=soil.root_depth, Zrmax=soil.root_depth, pbase=soil.depletion_fraction,
        # No evaporation from a layer of its own: the crop's coefficient holds all.
        Ze=1e-6, REW=0.0,
    )  # fmt: skip
    weather = fao56.Weather()
    weather.z, weather.lat, weather.wndht = 100.0, 45.0, 2.0
    for day in range(1, 31):
        row = {"Srad": 20.0, "Tmax": 25.0, "Tmin": 15.0, "Vapr": 1.4, "Tdew": 12.0, "RHmax": 80.0}
        row |= {"RHmin": 45.0, "Wndsp": 2.0, "Rain": 0.0, "ETref": 5.0, "MorP": "M"}
        weather.wdata.loc[f"2025-{day:03d}"] = row
    model = fao56.Model("2025-001", "2025-030", parameters, weather, cons_p=True)
    model.run()
    one = column(soil, soil.field_capacity)
    for depletion in model.odata["Dr"]:
        one.advance(DAY)
        ours = (soil.field_capacity - one.moisture) * soil.root_depth * 1000.0
        # A day's step of its own: half of a day's water at most.
        assert ours == pytest.approx(float(depletion), abs=1.5)
