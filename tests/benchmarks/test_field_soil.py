"""The benchmark's other soil: Horton's infiltration, drainage by Clapp and Hornberger's conductivity."""

import math

import pytest
from farm_rig import WORLD
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.field_soil import COLUMNS, DECAY, EXPONENTS, FieldColumn, HortonFront, soil_law
from devices.farm_rover.soil_texture import TEXTURES
from devices.farm_rover.world import Soil
from sims.farm_rover.simulator import FarmSimulator
from sims.farm_rover.soil import SoilColumn

DAY = 86400.0
LOAM = WORLD.soil


def column(kind: type[SoilColumn], moisture: float, surface: float = 0.0, soil: Soil = LOAM) -> SoilColumn:
    plant = WORLD.plants["plant_A"].model_copy(update={"moisture": moisture, "surface_liters": surface})
    return kind.under(plant, soil)


def poured(kind: type[SoilColumn], moisture: float, liters: float, seconds: float) -> SoilColumn:
    """The column so long after the start of a dose at 0.1 L/s."""
    soil = column(kind, moisture)
    soil.advance(liters / 0.1, 0.1)
    soil.advance(seconds - liters / 0.1)
    return soil


@pytest.mark.parametrize("depth", [0.0, 0.7])
def test_hortons_law_is_consistent(depth):
    front = HortonFront(0.0002, 1.5, depth, 0.004)
    for t in (1.0, 400.0, 20000.0):
        gained = front.gained(t)
        assert front.time(gained) == pytest.approx(t, rel=1e-9)
        slope = (front.gained(t + 0.1) - front.gained(t - 0.1)) / 0.2
        assert front.rate(gained) == pytest.approx(slope, rel=1e-6)
        steps = [front.gained(t * (n + 0.5) / 2000) for n in range(2000)]
        assert front.gained_time(gained) == pytest.approx(sum(steps) * t / 2000, rel=1e-4)
    assert front.rate(front.gained_at(0.001)) == pytest.approx(0.001)
    assert front.gained_at(0.0002) == math.inf
    assert HortonFront(0.0002, 1.5, 0.0, 0.004).gained_at(0.1) == 0.0


times = st.floats(0.001, 40000.0)
inflows = st.sampled_from([0.0, 1e-4, 0.002, 0.1])


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["", "philip", "field"]),
    st.floats(0.02, LOAM.saturation),
    st.floats(0.0, LOAM.brim_liters),
    st.lists(st.tuples(times, inflows, st.floats(0.0, 3.0)), min_size=1, max_size=4),
)
def test_the_water_balance_closes_under_each_law(law, moisture, surface, steps):
    soil = column(COLUMNS[law], moisture, surface)
    before, given_l = soil.surface + soil.root, 0.0
    for seconds, inflow, dose in steps:
        pumping = min(seconds, dose / inflow) if inflow else 0.0
        soil.advance(pumping, inflow)
        soil = soil.copy()
        soil.advance(seconds - pumping)
        given_l += pumping * inflow
    flows = soil.flows
    left = before + given_l - flows.drained - flows.evaporated - flows.runoff
    assert soil.surface + soil.root == pytest.approx(left, abs=1e-13)
    assert min(flows.drained, flows.evaporated, flows.runoff, soil.surface) >= -1e-12
    assert soil.moisture <= LOAM.saturation + 1e-12


def test_it_agrees_with_small_steps_of_the_laws_as_published():
    """Ponded loam at field capacity and above, for three days; the drainage's curve, not its chords."""
    soil = column(FieldColumn, 0.3, 4.0)
    root, surface, drained = soil.root, soil.surface, 0.0
    gone, step = 0.0, 20.0
    soil.advance(0.001)
    front = soil._front()
    assert isinstance(front, HortonFront) and front.k < front.first
    power, ks = 2.0 * EXPONENTS["loam"] + 3.0, front.k
    for _ in range(int(3 * DAY / step)):
        t = HortonFront(front.k, 0.0, 0.0, front.first).time(gone)
        rate = front.k + (front.first - front.k) * math.exp(-DECAY * t)
        sunk = min(surface, rate * step)
        loss = ks * (root / soil.saturation) ** power * step if root > soil.capacity else 0.0
        surface, gone, drained = surface - sunk, gone + sunk, drained + loss
        root += sunk - loss - soil.full_evaporation * step
    soil.advance(3 * DAY - 0.001)
    assert soil.root == pytest.approx(root, rel=0.01)
    assert soil.flows.drained == pytest.approx(drained, rel=0.06)


def test_it_differs_by_what_a_grower_would_notice_and_philips_does_not():
    """4.5 L: what has gone into a dry loam after 20 minutes, and what a wet one has leached after 5 days."""
    gone_in = {law: 4.5 - poured(kind, 0.12, 4.5, 1200.0).surface for law, kind in COLUMNS.items()}
    assert gone_in == pytest.approx({"": 1.82, "philip": 1.81, "field": 2.82}, abs=0.01)
    held = {law: poured(kind, 0.25, 4.5, 7200.0).root for law, kind in COLUMNS.items()}
    assert held == pytest.approx({"": 11.52, "philip": 11.47, "field": 10.15}, abs=0.01)
    lost = {law: poured(kind, 0.25, 4.5, 5 * DAY).flows.drained for law, kind in COLUMNS.items()}
    assert lost == pytest.approx({"": 1.53, "philip": 1.53, "field": 0.83}, abs=0.01)


@pytest.mark.parametrize("texture", list(TEXTURES))
def test_every_texture_drains_from_saturation_to_its_field_capacity(texture):
    given_soil = {"area": 0.2, "root_depth": 0.15, "depletion_fraction": 0.5, "evapotranspiration": 0.0}
    limits = {"rim_mm": 60.0, "pond_limit_mm": 10.0, "leaching_limit_liters": 0.5, "runoff_limit_liters": 0.1}
    where = Soil.model_validate({"texture": texture, **given_soil, **limits})
    soil = column(FieldColumn, where.saturation, soil=where)
    before = soil.root
    for days in (1.0, 1e6):
        soil.advance(days * DAY)
        assert where.field_capacity - 1e-9 <= soil.moisture < where.saturation
    assert before - soil.root == pytest.approx(soil.flows.drained, abs=1e-12)
    assert soil.moisture == pytest.approx(where.field_capacity, abs=1e-6)


def test_a_farm_is_made_with_the_law_that_is_set():
    with soil_law("field"):
        there = FarmSimulator(WORLD)
        there.init({}, 1)
        assert isinstance(there.state.plants["plant_A"].column, FieldColumn)
    there.init({}, 1)
    assert type(there.state.plants["plant_A"].column) is SoilColumn
