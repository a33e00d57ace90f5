"""The farm's physics: what is kept is kept, what touches touches, and the same seed gives the same bits."""

import math
import random
from dataclasses import replace
from threading import Event
from typing import Any

import pytest
from farm_rig import WORLD, Script, at, do, rover, run
from hypothesis import given, settings
from hypothesis import strategies as st

from devices.farm_rover.tools import FARM_ROVER
from devices.hidden import hidden_parameters
from sims.farm_rover.simulator import FarmSimulator

OPEN = {"safety_locked": False}
PLANTS = list(WORLD.plants)
PLACES = [*PLANTS, *WORLD.stations]
HIDDEN = {p.name: st.floats(p.low, p.high) for p in hidden_parameters(type(WORLD.hidden))}
hidden = st.fixed_dictionaries({}, optional=HIDDEN)
strengths = st.floats(0.0, 1.0)


def fault(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    times = st.floats(0.0, 300.0)
    return st.fixed_dictionaries(
        {"kind": st.just(kind), "at": times, "seconds": st.floats(1.0, 200.0), "strength": strengths}
    )


faults = st.lists(
    st.one_of(*map(fault, ("clogged_nozzle", "stuck_valve", "wheel_slip", "reset"))), max_size=4
)
calls = st.one_of(
    st.tuples(st.just("move_to"), st.sampled_from(PLACES).map(at)),
    st.tuples(
        st.just("move_to"), st.fixed_dictionaries({"x": st.floats(0.0, 20.0), "y": st.floats(0.0, 20.0)})
    ),
    st.tuples(
        st.just("water_plant"),
        st.fixed_dictionaries({"plant_id": st.sampled_from(PLANTS), "liters": st.floats(0.001, 20.0)}),
    ),
    st.tuples(
        st.just("spray_pesticide"),
        st.fixed_dictionaries({"plant_id": st.sampled_from(PLANTS), "ml": st.floats(0.001, 300.0)}),
    ),
    st.tuples(
        st.sampled_from(
            [
                "unlock_safety_mode",
                "refill_water_tank",
                "refill_pesticide",
                "recharge",
                "dump_hopper",
                "move_home",
            ]
        ),
        st.just({}),
    ),
)


def errands(rng: random.Random) -> Script:
    """Calls that mostly come through: somewhere, and something there."""
    script: Script = [("unlock_safety_mode", {})]
    for _ in range(rng.randint(2, 8)):
        place = rng.choice([*PLANTS, "water_station", "pesticide_refill"])
        script.append(("move_to", at(place)))
        if place == "water_station":
            script.append(("refill_water_tank", {}))
        elif place == "pesticide_refill":
            script.append(("refill_pesticide", {}))
        elif rng.random() < 0.6:
            script.append(("water_plant", {"plant_id": place, "liters": round(rng.uniform(0.05, 5.0), 3)}))
        else:
            script.append(("spray_pesticide", {"plant_id": place, "ml": round(rng.uniform(0.5, 90.0), 2)}))
    return script


def water_in(state: dict[str, Any]) -> float:
    tank = state["water_tank"]
    soil = 0.0
    for plant in state["plants"].values():
        flows = plant["water_liters"]
        volume = WORLD.soil.area * WORLD.soil.root_depth * 1000.0
        soil += plant["moisture"] * volume + plant["surface_liters"]
        soil += flows["drained"] + flows["evaporated"] + flows["runoff"]
    return tank["liters"] + tank["in_hose_liters"] + tank["spilled_liters"] + soil - tank["filled_liters"]


def pesticide_in(state: dict[str, Any]) -> float:
    tank = state["pesticide_tank"]
    on_plants = sum(plant["pesticide_ml"] for plant in state["plants"].values())
    return tank["ml"] + tank["in_hose_ml"] + tank["lost_ml"] + on_plants - tank["filled_ml"]


@pytest.mark.slow
@settings(max_examples=15)
@given(hidden, faults, st.integers(0, 2**32), st.booleans())
def test_water_and_pesticide_are_kept_to_1e_9(
    apart: dict[str, float], broken: list[dict[str, Any]], seed: int, stopped: bool
) -> None:
    all_is_kept(apart, broken, seed, stopped)


@pytest.mark.nightly
@settings(max_examples=120)
@given(hidden, faults, st.integers(0, 2**32), st.booleans())
def test_water_and_pesticide_are_kept_on_many_rounds(
    apart: dict[str, float], broken: list[dict[str, Any]], seed: int, stopped: bool
) -> None:
    all_is_kept(apart, broken, seed, stopped)


def all_is_kept(apart: dict[str, float], broken: list[dict[str, Any]], seed: int, stopped: bool) -> None:
    simulator, _ = rover({"hidden": apart, "faults": {"schedule": broken}}, seed)
    water, pesticide = water_in(simulator.state_dict()), pesticide_in(simulator.state_dict())
    script = errands(random.Random(seed))
    for k, (tool, arguments) in enumerate(script):
        outcome = do(simulator, tool, **arguments)
        if outcome.status == "fault":
            do(simulator, "unlock_safety_mode")
        if stopped and k == len(script) // 2:
            simulator.safe()
            simulator.reset()
            do(simulator, "unlock_safety_mode")
        state = simulator.state_dict()
        assert water_in(state) == pytest.approx(water, abs=1e-9)
        assert pesticide_in(state) == pytest.approx(pesticide, abs=1e-9)
    simulator.finish()
    assert water_in(simulator.state_dict()) == pytest.approx(water, abs=1e-9)
    tank = simulator.state_dict()["water_tank"]
    assert tank["liters"] >= 0.0
    assert tank["in_hose_liters"] >= -1e-12


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(calls, max_size=8), hidden, faults, st.integers(0, 99))
def test_random_calls_never_crash_and_leave_sense(
    script: Script, apart: dict[str, float], broken: list[dict[str, Any]], seed: int
) -> None:
    sense_is_left(script, apart, broken, seed)


@pytest.mark.nightly
@settings(max_examples=120)
@given(st.lists(calls, max_size=8), hidden, faults, st.integers(0, 99))
def test_many_random_calls_never_crash_and_leave_sense(
    script: Script, apart: dict[str, float], broken: list[dict[str, Any]], seed: int
) -> None:
    sense_is_left(script, apart, broken, seed)


def sense_is_left(script: Script, apart: dict[str, float], broken: list[dict[str, Any]], seed: int) -> None:
    init = {"hidden": apart, "faults": {"schedule": broken}, "safety_locked": False}
    person = {"path": [{"t": 5.0, "x": 0.0, "y": 10.0}, {"t": 95.0, "x": 20.0, "y": 10.0}]}
    simulator, samples = rover({**init, "person": person}, seed)
    for tool, arguments in script:
        before = simulator.state_dict()
        outcome = do(simulator, tool, **arguments)
        assert outcome.status in ("ok", "rejected", "fault")
        if outcome.status == "rejected":
            assert simulator.state_dict() == before
        if outcome.status == "ok":
            FARM_ROVER.by_name[tool].result.model_validate(outcome.value)
    simulator.finish()
    state = simulator.state_dict()
    assert 0.0 <= state["battery"] <= 1.0
    assert not state["moving"] and state["working"] is None
    assert [s.t for s in samples] == sorted(s.t for s in samples)
    for event in simulator.events:
        assert 0 <= event.call < max(1, len(script))
        assert 0.0 <= event.t_start <= event.t_end <= simulator.clock.now + 1e-6
        assert event.severity > 0.0 and math.isfinite(event.exposure)


def test_the_same_seed_gives_the_same_bits_and_another_seed_other_noise() -> None:
    init = {
        **OPEN,
        "hidden": {"slip": 0.03, "water_flow": 1.1, "dropout": 0.1},
        "sensors": {"moisture": {"noise": 0.05}},
        "faults": {
            "random": [{"kind": "clogged_nozzle", "per_hour": 60, "seconds": 20, "strength": [0.2, 0.9]}]
        },
    }
    script = errands(random.Random(5))

    def episode(seed: int) -> Any:
        simulator, samples = rover(init, seed)
        outcomes = [do(simulator, tool, **arguments) for tool, arguments in script]
        simulator.finish()
        return outcomes, samples, simulator.state_dict(), simulator.events

    assert episode(1) == episode(1)
    assert episode(1)[1] != episode(2)[1]


@pytest.mark.parametrize("gap", [0.001, -0.001])
def test_contact_is_found_1_mm_in_the_way_and_not_1_mm_beside_it(gap: float) -> None:
    """A post beside a straight drive whose footprint misses it by 1 mm, or touches it by 1 mm."""
    radius = WORLD.rover.radius
    post = {"x": 8.0, "y": 5.0 + radius + 0.2 + gap, "radius": 0.2}
    field: dict[str, Any] = {
        "obstacles": {"tree": None, "shed": None, "well": None, "rock": None, "post": post}
    }
    field["beds"] = dict.fromkeys(WORLD.beds)
    simulator, _ = rover({**OPEN, **field, "pose": {"x": 5.0, "y": 5.0}})
    simulator.ground = replace(simulator.ground, shapes=())
    assert do(simulator, "move_to", x=11.0, y=5.0).status == "ok"
    kinds = [event.kind for event in simulator.events]
    assert kinds == (["collision"] if gap < 0.0 else [])
    if kinds:
        assert simulator.events[0].severity == pytest.approx(0.001, abs=5e-5)
    route, _ = rover({**OPEN, **field})
    do(route, "move_to", x=11.0, y=5.0)
    assert route.events == (), "the rover that plans goes round"


def test_ponding_that_a_coarse_sensor_does_not_show_leaves_no_sample_different() -> None:
    """7.3 L at once stand a little too deep for a little too long; 6.9 L do not, and all is damp by then."""
    init = {
        **OPEN,
        "pose": at("plant_A"),
        "water_tank": {"liters": 20.0, "capacity_liters": 20.0},
        "plants": {"plant_A": {"moisture": 0.11, "tolerance_s": 7200.0, "moisture_limit": 0.46}},
        "soil": {"leaching_limit_liters": 99.0},
    }
    events, moisture = {}, {}
    for liters in (6.9, 7.3):
        script: Script = [
            ("water_plant", {"plant_id": "plant_A", "liters": liters}),
            *[("sense_pose", {})] * (21 if liters == 6.9 else 1),
        ]
        simulator, samples = run(script, init)
        simulator.run_out()
        events[liters] = [event.kind for event in simulator.events]
        moisture[liters] = [
            (s.sensor, s.value, s.t) for s in samples if s.sensor.startswith("moisture") and s.t < 7200.0
        ]
    assert events == {6.9: [], 7.3: ["ponding"]}
    assert moisture[6.9] == moisture[7.3]


def test_the_battery_gives_what_motion_and_pumps_take() -> None:
    init = {**OPEN, "pose": {"x": 2.0, "y": 11.0, "yaw": math.pi / 2}}
    simulator, _ = rover(init)
    world = WORLD.rover
    do(simulator, "move_to", x=2.0, y=14.0, yaw=math.pi / 2)
    do(simulator, "water_plant", plant_id="plant_A", liters=3.0)
    do(simulator, "spray_pesticide", plant_id="plant_A", ml=20.0)
    do(simulator, "move_to", x=2.0, y=12.0, yaw=-math.pi / 2)
    used = 5.0 * world.drive_charge_per_m + math.pi * world.turn_charge_per_rad
    used += (30.0 + 4.0) * world.pump_charge_per_s
    assert simulator.state_dict()["battery"] == pytest.approx(1.0 - used, abs=1e-9)


@pytest.mark.parametrize("draw", [0.8, 1.2])
def test_a_hungry_rover_takes_more(draw: float) -> None:
    script: Script = [("move_to", at("plant_A")), ("water_plant", {"plant_id": "plant_A", "liters": 1.0})]
    plain, _ = run(script, OPEN)
    hungry, _ = run(script, {**OPEN, "hidden": {"draw": draw}})
    used = [1.0 - simulator.state_dict()["battery"] for simulator in (plain, hungry)]
    assert used[1] == pytest.approx(draw * used[0])


def test_a_stop_leaves_the_rover_where_it_was_with_its_wheels_at_rest() -> None:
    stop = Event()
    simulator, _ = rover({**OPEN, "hidden": {"slip": 0.05}, "sensors": {"moisture": {"period": 2.0}}})
    simulator.subscribe(lambda sample: stop.set())
    outcome = simulator.execute("move_to", at("plant_A"), stop)
    assert outcome.code == "stopped"
    before = simulator.state_dict()["pose"]
    do(simulator, "sense_pose")
    state = simulator.state_dict()
    assert state["pose"] == before
    assert (state["moving"], state["safety_locked"]) == (False, True)
    assert isinstance(simulator, FarmSimulator)


def test_a_snapshot_holds_what_drips_and_what_is_blamed() -> None:
    init = {
        **OPEN,
        "pose": at("plant_A"),
        "plants": {"plant_A": {"moisture": 0.42, "tolerance_s": 60.0, "pesticide_ml": 90.0}},
        "hidden": {"slip": 0.04, "water_flow": 1.2},
        "faults": {"schedule": [{"kind": "stuck_valve", "at": 0.0, "strength": 0.2}]},
    }
    simulator, samples = rover(init)
    do(simulator, "water_plant", plant_id="plant_A", liters=1.0)
    do(simulator, "spray_pesticide", plant_id="plant_A", ml=20.0)
    snapshot, heard = simulator.snapshot(), len(samples)
    futures = []
    for _ in range(3):
        simulator.restore(snapshot)
        del samples[heard:]
        do(simulator, "harvest_fruit", plant_id="plant_A")
        do(simulator, "move_to", **at("plant_C"))
        do(simulator, "water_plant", plant_id="plant_C", liters=1.0)
        simulator.finish()
        futures.append((simulator.state_dict(), simulator.events, list(samples)))
    assert futures[0] == futures[1] == futures[2]
    assert {event.kind for event in simulator.events} >= {"over_irrigation", "valve_open_driving"}
