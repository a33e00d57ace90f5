import math

import pytest
from farm_rig import WORLD
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.farm_rover.soil import SoilColumn, Stretch

BRIM = WORLD.soil.rim_mm * WORLD.soil.area
moistures = st.floats(0.02, WORLD.soil.saturation)
surfaces = st.floats(0.0, BRIM)
inflows = st.sampled_from([0.0, 0.02, 0.1, 0.4])
times = st.floats(0.001, 4000.0)


def column(moisture: float = 0.12, surface: float = 0.0) -> SoilColumn:
    plant = WORLD.plants["plant_A"].model_copy(update={"moisture": moisture, "surface_liters": surface})
    return SoilColumn.under(plant, WORLD.soil)


@settings(max_examples=150, deadline=None)
@given(moistures, surfaces, st.lists(st.tuples(times, inflows), min_size=1, max_size=6))
def test_the_water_balance_closes(moisture, surface, steps):
    soil = column(moisture, surface)
    before = soil.surface + soil.root
    for seconds, inflow in steps:
        soil.advance(seconds, inflow)
    flows = soil.flows
    assert flows.applied == pytest.approx(sum(seconds * inflow for seconds, inflow in steps), abs=1e-9)
    left = before + flows.applied - flows.drained - flows.evaporated - flows.runoff
    assert soil.surface + soil.root == pytest.approx(left, abs=1e-9)
    assert -1e-12 <= soil.surface <= BRIM + 1e-9
    assert soil.moisture <= WORLD.soil.saturation + 1e-12
    assert min(flows.drained, flows.evaporated, flows.runoff, flows.infiltrated) >= -1e-9


@settings(max_examples=100, deadline=None)
@given(moistures, surfaces, inflows, times, st.floats(0.05, 0.95))
def test_the_result_does_not_depend_on_the_steps(moisture, surface, inflow, seconds, share):
    whole, parts = column(moisture, surface), column(moisture, surface)
    whole.advance(seconds, inflow)
    parts.advance(seconds * share, inflow)
    parts.advance(seconds * (1.0 - share), inflow)
    assert parts.surface == pytest.approx(whole.surface, abs=1e-8)
    assert parts.root == pytest.approx(whole.root, abs=1e-8)


@pytest.mark.parametrize(
    ("moisture", "surface", "inflow"),
    [
        (0.12, 0.0, 0.1),
        (0.05, 3.0, 0.0),
        (0.29, 2.0, 0.1),
        (0.44, 2.0, 0.0),
        (0.44, 7.0, 0.4),
        (0.2, 7.1, 0.3),
    ],
)
def test_it_solves_its_own_differential_equations(moisture, surface, inflow):
    soil, stepped = column(moisture, surface), column(moisture, surface)
    soil.advance(300.0, inflow)
    s, w, dt = stepped.surface, stepped.root, 0.005
    for _ in range(60_000):
        drained = max(0.0, w - stepped.capacity) / stepped.soil.drainage_s
        share = (w - stepped.wilting) / (stepped.stress - stepped.wilting)
        loss = drained + stepped.full_evaporation * min(1.0, max(0.0, share))
        seeping = s / stepped.soil.infiltration_s
        if w >= stepped.saturation:
            seeping = min(seeping, loss)
        w += dt * (seeping - loss)
        s = min(s + dt * (inflow - seeping), stepped.rim)
    assert soil.surface == pytest.approx(s, abs=2e-3)
    assert soil.root == pytest.approx(w, abs=2e-3)


def test_moisture_lags_the_watering_by_minutes():
    soil = column()
    soil.advance(45.0, 0.1)
    just_after = soil.moisture
    soil.advance(600.0)
    settled = soil.moisture
    assert just_after - 0.12 < 0.2 * (settled - 0.12)
    assert settled == pytest.approx(0.12 + 4.5 / 30.0, abs=0.005)


def test_stretches_hold_the_exact_integrals_and_the_peak():
    fine: list[float] = []
    coarse: list[Stretch] = []
    soil, stepped = column(0.28), column(0.28)
    soil.advance(30.0, 0.1)
    stepped.advance(30.0, 0.1)
    soil.advance(3000.0, 0.0, coarse.append)
    for _ in range(30_000):
        fine.append(stepped.moisture)
        stepped.advance(0.1)
    assert max(max(s.moisture) for s in coarse) == pytest.approx(max(fine), abs=1e-7)
    assert sum(s.moisture_time for s in coarse) == pytest.approx(sum(fine) * 0.1, rel=1e-5)
    assert [s.t_end for s in coarse[:-1]] == [s.t_start for s in coarse[1:]]


def test_a_dry_soil_without_water_stays_as_it_is():
    soil = column(0.05)
    soil.advance(86_400.0)
    assert soil.moisture == 0.05
    assert not math.isnan(soil.surface)
