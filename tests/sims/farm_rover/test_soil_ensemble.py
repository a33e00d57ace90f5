"""The soil for many points at once agrees with the simulator's exact column, and has its rules' events."""

import numpy as np
import pytest
from farm_rig import WORLD

from sims.farm_rover.soil import SoilColumn
from sims.farm_rover.soil_ensemble import SoilEnsemble

MOISTURES = np.array([0.12, 0.20, 0.25, 0.12])
FACTORS = np.array([1.0, 1.0, 1.0, 0.5])
DOSES = [(10.0, 55.0, np.array([4.5, 9.0])), (70.0, 115.0, np.array([0.0, 4.5]))]
MOMENTS = [60.0, 120.0, 600.0, 7200.0]
END = 7300.0


def shares(law: float) -> np.ndarray:
    """The median suction, which is the published one; a law's share."""
    found = np.full((len(MOISTURES), SoilEnsemble.columns), 0.5)
    found[:, 4] = law
    return found


def run(law: float = 0.9):
    hidden = {"infiltration": FACTORS, "drainage": FACTORS}
    return SoilEnsemble(WORLD, "plant_A").run(MOISTURES, hidden, shares(law), DOSES, MOMENTS, END)


def column(point: int) -> SoilColumn:
    soil, factor = WORLD.soil, float(FACTORS[point])
    soil = soil.model_copy(
        update={
            "conductivity_mm_h": soil.conductivity_mm_h * factor,
            "drainage_s": soil.drainage_s / factor,
        }
    )
    return SoilColumn.under(
        WORLD.plants["plant_A"].model_copy(update={"moisture": float(MOISTURES[point])}), soil
    )


@pytest.mark.parametrize("member", [0, 1])
@pytest.mark.parametrize("point", range(4))
def test_it_follows_the_exact_column(member, point):
    exact, found = column(point), run()
    flows = [(10.0, 0.0), (45.0, DOSES[0][2][member] / 45.0), (15.0, 0.0), (45.0, DOSES[1][2][member] / 45.0)]
    seen, t = [], 0.0
    for moment in (*MOMENTS, END + 432_000.0):
        for seconds, flow in [*flows]:
            if t + seconds > moment:
                exact.advance(moment - t, flow)
                flows[0] = (seconds - (moment - t), flow)
                t = moment
                break
            exact.advance(seconds, flow)
            t += seconds
            flows.pop(0)
        else:
            exact.advance(moment - t)
            t = moment
        seen.append(exact.moisture)
    told = found.quantities["moisture.plant_A"][:, member, point]
    assert told == pytest.approx(seen[:-1], abs=2e-3)
    unwatered = column(point)
    unwatered.advance(END + 432_000.0)
    for kind, total, limit in (
        ("leaching", exact.flows.drained - unwatered.flows.drained, WORLD.soil.leaching_limit_liters),
        ("runoff", exact.flows.runoff, WORLD.soil.runoff_limit_liters),
    ):
        event = found.events[kind]
        assert event.severity[member, point] == pytest.approx(max(0.0, total - limit), abs=0.03)
        assert event.happens[member, point] == (total - limit > 0.05)


def test_water_that_no_call_brought_is_no_event():
    dry = [(begin, end, np.zeros(2)) for begin, end, _ in DOSES]
    hidden = {"infiltration": FACTORS, "drainage": FACTORS}
    wet = np.full(4, WORLD.soil.saturation)
    found = SoilEnsemble(WORLD, "plant_A").run(wet, hidden, shares(0.9), dry, MOMENTS, END)
    assert not any(event.happens.any() for event in found.events.values())


def test_gravity_drains_a_soil_above_field_capacity_at_its_conductivity():
    linear, gravity = (run(law).events["leaching"].severity[1] for law in (0.9, 0.1))
    assert (gravity[:3] < linear[:3]).all() and (gravity > 1.0).all()
