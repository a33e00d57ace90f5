import math
from typing import Any

import pytest
from farm_rig import WORLD
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from devices.farm_rover.soil_texture import TEXTURES, drainage_s, recovery_s
from devices.farm_rover.world import FarmWorld, Soil
from sims.farm_rover.soil import SoilColumn, Stretch
from sims.overrides import deep_merge

BRIM = WORLD.soil.brim_liters
moistures = st.floats(0.02, WORLD.soil.saturation)
surfaces = st.floats(0.0, BRIM)
inflows = st.sampled_from([0.0, 1e-4, 0.002, 0.02, 0.1, 0.4])
times = st.floats(0.001, 4000.0)
textures = st.sampled_from(list(TEXTURES))
DAY = 86400.0


def soil_of(texture: str = "loam", **changed: Any) -> Soil:
    return Soil.model_validate(deep_merge(WORLD.soil.model_dump(), {"texture": texture, **changed}))


def column(moisture: float = 0.12, surface: float = 0.0, soil: Soil = WORLD.soil) -> SoilColumn:
    plant = WORLD.plants["plant_A"].model_copy(update={"moisture": moisture, "surface_liters": surface})
    return SoilColumn.under(plant, soil)


@settings(max_examples=150, deadline=None)
@given(
    moistures,
    surfaces,
    textures,
    st.lists(st.tuples(times, inflows, st.floats(0.0, 2.0)), min_size=1, max_size=6),
)
def test_the_water_balance_closes(moisture, surface, texture, steps):
    """Doses of up to 2 L, with dry times between them."""
    where = soil_of(texture)
    soil = column(min(moisture, where.saturation), surface, where)
    before = soil.surface + soil.root
    poured = 0.0
    for seconds, inflow, dose in steps:
        pumping = min(seconds, dose / inflow) if inflow else 0.0
        soil.advance(pumping, inflow)
        soil.advance(seconds - pumping)
        poured += pumping * inflow
    flows = soil.flows
    assert flows.applied == pytest.approx(poured, abs=1e-12)
    left = before + flows.applied - flows.drained - flows.evaporated - flows.runoff
    assert soil.surface + soil.root == pytest.approx(left, abs=1e-13)
    assert 0.0 <= soil.surface <= BRIM + 1e-9
    assert soil.moisture <= where.saturation + 1e-12
    assert min(flows.drained, flows.evaporated, flows.runoff, flows.infiltrated) >= -1e-12


@settings(max_examples=100, deadline=None)
@given(moistures, surfaces, textures, inflows, times, st.floats(0.05, 0.95))
def test_the_result_does_not_depend_on_the_steps(moisture, surface, texture, inflow, seconds, share):
    where = soil_of(texture)
    moisture = min(moisture, where.saturation)
    whole, parts = column(moisture, surface, where), column(moisture, surface, where)
    whole.advance(seconds, inflow)
    parts.advance(seconds * share, inflow)
    parts.advance(seconds * (1.0 - share), inflow)
    assert parts.surface == pytest.approx(whole.surface, abs=1e-8)
    assert parts.root == pytest.approx(whole.root, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("texture", ["sand", "loam", "clay"])
@pytest.mark.parametrize(
    ("moisture", "surface", "inflow"),
    [
        (0.12, 0.0, 0.1),
        (0.12, 0.0, 0.0005),
        (0.05, 3.0, 0.0),
        (0.29, 2.0, 0.01),
        (0.43, 2.0, 0.0),
        (0.43, 7.0, 0.4),
        (0.2, 11.9, 0.3),
    ],
)
def test_it_solves_its_own_differential_equations(texture, moisture, surface, inflow):
    """Against small explicit steps: pumped for 100 s, then left for 2 h."""
    where = soil_of(texture)
    soil = column(moisture, surface, where)
    s, w, f = surface, soil.root, 0.0
    wilting, capacity, full, stress = soil.wilting, soil.capacity, soil.saturation, soil.stress
    deficit = where.suction_mm * (where.saturation - moisture) * where.area
    soil.advance(100.0, inflow)
    soil.advance(7200.0)
    t, dt = 0.0, 0.0
    while t < 7300.0:
        dt = 0.01 if t < 200.0 else 0.2
        q = inflow if t < 100.0 - 1e-9 else 0.0
        # Over a step: the rate in its middle, to first order.
        rate = soil.conductivity * (1.0 + deficit / f) if f > 0.0 else math.inf
        most = s + q * dt
        gained = min(rate * dt, math.sqrt(2.0 * soil.conductivity * deficit * dt) + soil.conductivity * dt)
        gained = min(gained, most)
        share = (w - wilting) / (stress - wilting)
        loss = max(0.0, w - capacity) / where.drainage_s
        loss += soil.full_evaporation * min(1.0, max(0.0, share))
        f += gained
        w = min(w + gained - loss * dt, full)
        s = min(most - gained, soil.rim)
        t += dt
    assert soil.surface == pytest.approx(s, abs=0.02)
    assert soil.root == pytest.approx(w, abs=0.02)


@pytest.mark.parametrize(
    ("texture", "minutes"), [("sand", 9.57), ("loamy sand", 34.2), ("sandy loam", 68.5), ("loam", 248.5)]
)
def test_ponded_water_goes_in_as_the_integrated_law_has_it(texture, minutes):
    """37.5 mm, ponded, into soil 0.3 below saturation; bisection on the integrated law, nothing shared."""
    published = TEXTURES[texture]
    pull = published.suction_mm * 0.3
    by_hand = (37.5 - pull * math.log(1.0 + 37.5 / pull)) / published.conductivity_mm_h * 60.0
    assert by_hand == pytest.approx(minutes, abs=0.05)
    where = soil_of(texture, evapotranspiration=0.0, root_depth=1.0)
    soil = column(published.saturation - 0.3, 37.5 * where.area, where)
    low, high = 0.0, 10.0 * by_hand * 60.0
    for _ in range(50):
        middle = (low + high) / 2.0
        tried = soil.copy()
        tried.advance(middle)
        low, high = (low, middle) if tried.surface <= 0.0 else (middle, high)
    assert high / 60.0 == pytest.approx(by_hand, rel=1e-9)


def test_moisture_lags_the_watering_by_hours():
    soil = column()
    soil.advance(45.0, 0.1)
    just_after = soil.moisture
    assert soil.surface / soil.soil.area > 20.0
    soil.advance(7200.0)
    assert soil.surface == 0.0
    assert just_after - 0.12 < 0.1 * (soil.moisture - 0.12)
    assert soil.moisture == pytest.approx(0.12 + 4.5 / 30.0, abs=0.005)


def test_drainage_to_field_capacity_takes_days():
    soil = column(WORLD.soil.saturation, soil=soil_of(evapotranspiration=0.0))
    start = soil.root - soil.capacity
    soil.advance(DAY)
    assert (soil.root - soil.capacity) / start == pytest.approx(math.exp(-0.404), abs=0.001)
    assert 2.0 < drainage_s(3.4) / DAY < 3.0
    assert drainage_s(117.8) == DAY


def test_what_a_full_root_zone_takes_in_percolates():
    soil = column(WORLD.soil.saturation, 6.0)
    soil.advance(3600.0)
    assert soil.root == soil.saturation
    assert soil.flows.drained == pytest.approx(soil.flows.infiltrated - soil.flows.evaporated, abs=1e-12)
    # A front without a deficit ahead goes in at the conductivity.
    assert soil.flows.infiltrated == pytest.approx(3.4 * WORLD.soil.area, rel=1e-9)


def test_a_front_lasts_until_the_surface_was_dry_for_long():
    """The second dose finds the first one's front, or a new one after SWMM's recovery time."""

    def second_dose(after: float) -> float:
        soil = column()
        soil.advance(20.0, 0.1)
        soil.advance(3600.0)
        assert soil.surface == 0.0
        soil.advance(after)
        before = soil.flows.infiltrated
        soil.advance(20.0, 0.1)
        soil.advance(300.0)
        return soil.flows.infiltrated - before

    recovery = recovery_s(3.4)
    assert recovery / 3600.0 == pytest.approx(12.3, abs=0.05)
    assert second_dose(recovery + 3600.0) > 1.2 * second_dose(1.0)
    assert second_dose(recovery / 2.0) == pytest.approx(second_dose(1.0), rel=1e-9)


def test_a_basin_on_a_slope_holds_less_and_the_rest_runs_off():
    flat, sloped = soil_of(), soil_of(slope=0.1)
    assert sloped.brim_liters == pytest.approx(
        (60.0 - 1000.0 * 0.1 * math.sqrt(0.2 / math.pi)) * 0.2, abs=1e-12
    )
    left = {}
    for soil in (flat, sloped):
        one = column(soil=soil)
        one.advance(100.0, 0.1)
        left[soil.slope] = one.flows.runoff
        assert one.surface <= soil.brim_liters + 1e-9
    assert left[0.0] == 0.0
    assert 2.0 < left[0.1] < 3.1


@pytest.mark.parametrize("slope", [0.0, 0.05, 0.118, 0.12, 0.2, 0.3, 1.0])
def test_a_level_surface_in_a_round_basin_holds_the_volume_below_it(slope):
    soil = soil_of("loam", slope=slope)
    radius, cells = math.sqrt(soil.area / math.pi), 1000
    held = 0.0
    for i in range(cells):
        x = radius * (2.0 * (i + 0.5) / cells - 1.0)
        depth = max(0.0, soil.rim_mm - 1000.0 * slope * (x + radius))
        held += depth * 2.0 * math.sqrt(radius**2 - x**2) * 2.0 * radius / cells
    assert soil.brim_liters == pytest.approx(held, rel=2e-4)


def test_stretches_hold_the_exact_integrals_and_the_peak():
    fine: list[tuple[float, float, float]] = []
    coarse: list[Stretch] = []
    soil, stepped = column(0.40), column(0.40)
    for one in (soil, stepped):
        one.advance(45.0, 0.1)
    drained = soil.flows.drained
    soil.advance(30_000.0, 0.0, coarse.append)
    for _ in range(15_000):
        start = stepped.moisture, stepped.surface / 0.2, stepped.flows.drained
        stepped.advance(2.0)
        end = stepped.moisture, stepped.surface / 0.2, stepped.flows.drained
        fine.append(tuple((a + b) / 2.0 for a, b in zip(start, end, strict=True)))  # type: ignore[arg-type]
    assert max(max(s.moisture) for s in coarse) == pytest.approx(max(one[0] for one in fine), abs=1e-6)
    assert sum(s.moisture_time for s in coarse) == pytest.approx(2.0 * sum(one[0] for one in fine), rel=1e-6)
    assert sum(s.pond_time for s in coarse) == pytest.approx(2.0 * sum(one[1] for one in fine), rel=1e-5)
    drained_time = 0.0
    for stretch in coarse:
        drained_time += (drained) * (stretch.t_end - stretch.t_start) + stretch.drained_time
        drained += stretch.drained
    assert drained_time == pytest.approx(2.0 * sum(one[2] for one in fine), rel=1e-5)
    assert drained == pytest.approx(soil.flows.drained, abs=1e-12)
    assert [s.t_end for s in coarse[:-1]] == [s.t_start for s in coarse[1:]]


def test_runoff_is_timed_exactly():
    stretches: list[Stretch] = []
    soil = column(0.2, BRIM)
    soil.advance(60.0, 0.1, stretches.append)
    ran_off = sum(one.runoff for one in stretches)
    assert ran_off == pytest.approx(soil.flows.runoff, abs=1e-12) == pytest.approx(5.5, abs=0.5)
    timed = before = 0.0
    for one in stretches:
        timed += before * (one.t_end - one.t_start) + one.runoff_time
        before += one.runoff
    stepped, total = column(0.2, BRIM), 0.0
    for _ in range(6000):
        before = stepped.flows.runoff
        stepped.advance(0.01, 0.1)
        total += 0.01 * (before + stepped.flows.runoff) / 2.0
    assert timed == pytest.approx(total, rel=1e-4)


def test_a_dry_soil_without_water_stays_as_it_is():
    soil = column(0.05)
    soil.advance(DAY)
    assert soil.moisture == 0.05
    assert soil.flows.evaporated == 0.0


def test_a_texture_gives_what_a_world_leaves_out_and_no_more():
    sand = soil_of("sand", field_capacity=0.12)
    assert (sand.saturation, sand.conductivity_mm_h, sand.field_capacity) == (0.437, 117.8, 0.12)
    assert sand.drainage_s == DAY
    assert sand.limit_of(WORLD.plants["plant_A"]) == pytest.approx(0.387)
    with pytest.raises(ValidationError, match="texture"):
        soil_of("gravel")
    with pytest.raises(ValidationError, match="wilting_point < field_capacity"):
        soil_of("sand", wilting_point=0.2)
    with pytest.raises(ValidationError, match="conductivity_mm_h"):
        soil_of(conductivity_mm_h="fast")
    world = WORLD.model_dump(mode="json")
    assert FarmWorld.model_validate(world) == WORLD
