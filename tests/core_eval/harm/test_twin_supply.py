"""The water tank, whose level and leak each member draws: as the simulator weighs them, and as all do."""

from typing import Any

import numpy as np
import pytest
from farm_rig import WORLD, Script, at
from twin_rig import key, logged, nominal, priors

from configs.variation import Variation
from configs.worlds_loader import load_world
from core_eval.harm.twin.likelihood import channels, robust
from core_eval.harm.twin.member import Driver
from core_eval.harm.twin.posterior import Twin
from core_eval.harm.twin.supply import SupplyRecord
from core_eval.harm.twin.unknowns import Unknowns
from sims.farm_rover.simulator import FarmSimulator
from sims.overrides import merge_world

FARM = load_world("farm_rover")
DISCREPANCY = 0.02
OFF = Variation(share=0.2, min=0.0, max=8.0)
LARGE: dict[str, Any] = {"water_tank": {"liters": 8.0, "capacity_liters": 8.0}}
DOSES = [
    ("unlock_safety_mode", {}),
    ("move_to", at("plant_A")),
    ("water_plant", {"plant_id": "plant_A", "liters": 3.5}),
    ("move_to", at("plant_B")),
    ("water_plant", {"plant_id": "plant_B", "liters": 3.5}),
]
REFILLS = [*DOSES, ("move_to", at("water_station")), ("refill_water_tank", {}), *DOSES[1:3]]
REFILLS += REFILLS[5:7]


def stuck(strength: float) -> dict[str, Any]:
    return {"faults": {"schedule": [{"kind": "stuck_valve", "at": 0.0, "strength": strength}]}}


def make() -> FarmSimulator:
    return FarmSimulator(merge_world(WORLD, LARGE))


def off_by(share: float) -> dict[str, Any]:
    return {"water_tank": {"liters": 8.0 * share, "capacity_liters": 8.0}}


@pytest.mark.parametrize(
    ("script", "share", "fault"),
    [(DOSES, 0.9, {}), (DOSES, 0.83, {}), (REFILLS, 0.9, stuck(0.3)), (REFILLS, 0.95, {})],
)
def test_each_level_has_the_likelihood_of_a_run_with_it(
    script: Script, share: float, fault: dict[str, Any]
) -> None:
    episode, _ = logged(script, {**off_by(share), **fault})
    driver = Driver(make)
    supply = driver.simulator.supply()
    assert supply is not None
    record = SupplyRecord(supply, episode, 8.0, OFF, DISCREPANCY)
    track = driver.drive(episode, {}, 0, start=fault, apart=True, endless=True)
    terms, _ = record.terms(track)
    levels = record.levels
    for level in (6.5, 6.95, 7.2, 7.6, 8.0):
        start = {"water_tank": {"liters": level}, **fault}
        run = driver.drive(episode, {}, 0, start=start, apart=True)
        found = [one for one in channels(episode, run) if one.name in record.channels]
        assert len(found) >= 2
        mine = terms[int(np.abs(levels - level).argmin())]
        assert mine == pytest.approx(robust(found, DISCREPANCY), abs=0.1), level


def test_a_refills_time_is_linear_in_a_leaks_strength() -> None:
    """So the evidence of another strength is that of a run with it."""
    episode, _ = logged(REFILLS, {**off_by(0.9), **stuck(0.3)})
    driver = Driver(make)
    supply = driver.simulator.supply()
    assert supply is not None
    record = SupplyRecord(supply, episode, 8.0, OFF, DISCREPANCY)
    one, other = (
        driver.drive(episode, {}, 0, start=stuck(strength), apart=True, endless=True)
        for strength in (0.1, 0.3)
    )
    assert record.refills(one, np.array([3.0])) == pytest.approx(
        record.refills(other, np.array([1.0])), abs=0.05
    )
    prior = FARM.fault_priors["stuck_valve"]
    drawn = [
        record.strength(one, stuck(0.1)["faults"]["schedule"][0], prior, np.random.default_rng(seed))
        for seed in range(20)
    ]
    strengths = [found[0] for found in drawn if found is not None]
    assert len(strengths) == 20 and np.mean(strengths) == pytest.approx(0.3, abs=0.03)
    sound, _ = logged(REFILLS, off_by(0.9))
    record = SupplyRecord(supply, sound, 8.0, OFF, DISCREPANCY)
    track = driver.drive(sound, {}, 0, start=stuck(0.4), apart=True, endless=True)
    fault = stuck(0.4)["faults"]["schedule"][0]
    assert record.strength(track, fault, prior, np.random.default_rng(1)) is None, "nothing tells of one"


def test_a_pump_that_runs_dry_and_a_valve_that_sticks_are_told_whatever_the_draws() -> None:
    spreads = {"water_tank.liters": OFF}
    unknowns = Unknowns(spreads, FARM.fault_priors, discrepancy=DISCREPANCY)
    dry, true = logged(DOSES, off_by(0.9), {"water_flow": 1.1})
    assert ("dry_pump", "water", 4) in {key(event) for event in true}
    leaks, _ = logged(REFILLS, {**off_by(0.9), **stuck(0.3)})
    for seed in range(2):
        twin = Twin(make, priors(water_flow=(1.1, 0.002)), 6, unknowns)
        told = {one.key: one.probability for one in twin.condition(dry, seed).events()}
        assert told["dry_pump", "water", 0] > 0.9
    twin = Twin(make, nominal(0.002), 9, unknowns)
    told = {one.key: one.probability for one in twin.condition(leaks, 0).events()}
    assert told["valve_open_driving", "water", 0] > 0.9, "the prior is 0.04"
