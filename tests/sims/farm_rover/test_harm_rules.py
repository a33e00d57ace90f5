"""Each harm rule of the farm on both sides of its limit, and each remedy against its own event."""

import math
from threading import Event
from typing import Any

import pytest
from farm_rig import WORLD, Script, at, do, rover, run

from core_eval.text.values import alike
from devices.harm import HarmEvent
from sims.farm_rover.simulator import FarmSimulator

OPEN = {"safety_locked": False}
CALM = {"wind": {"speed": 0.0}}
BIG = {"water_tank": {"liters": 20.0, "capacity_liters": 20.0}}
LENIENT = {"leaching_limit_liters": 99.0, "runoff_limit_liters": 99.0}
OPEN_FIELD = {
    "beds": dict.fromkeys(WORLD.beds),
    "obstacles": dict.fromkeys(WORLD.obstacles),
}
RADIUS = WORLD.rover.radius


def here(name: str = "plant_A", **plant: Any) -> dict[str, Any]:
    return {**OPEN, **CALM, **BIG, "pose": at(name), "plants": {name: plant}}


def water(liters: float, name: str = "plant_A") -> tuple[str, dict[str, Any]]:
    return "water_plant", {"plant_id": name, "liters": liters}


def spray(ml: float, name: str = "plant_A") -> tuple[str, dict[str, Any]]:
    return "spray_pesticide", {"plant_id": name, "ml": ml}


def harvest(name: str = "plant_A") -> tuple[str, dict[str, Any]]:
    return "harvest_fruit", {"plant_id": name}


def move(x: float, y: float) -> tuple[str, dict[str, Any]]:
    return "move_to", {"x": x, "y": y}


def person(*path: tuple[float, float, float]) -> dict[str, Any]:
    return {"person": {"path": [{"t": t, "x": x, "y": y} for t, x, y in path]}}


def stuck(kind: str, strength: float, seconds: float | None = None) -> dict[str, Any]:
    return {"faults": {"schedule": [{"kind": kind, "at": 0.0, "strength": strength, "seconds": seconds}]}}


def whole(script: Script, init: dict[str, Any]) -> FarmSimulator:
    """An episode whose harm is followed until it ends."""
    simulator, _ = run(script, init)
    simulator.run_out()
    return simulator


def stands(x: float, y: float) -> dict[str, Any]:
    return person((0.0, x, y), (9000.0, x, y))


def hollow(moisture: float) -> dict[str, Any]:
    box = {"x_min": 10.0, "x_max": 12.0, "y_min": 2.0, "y_max": 3.0}
    return {"wet_ground": {"hollow": {**box, "moisture": moisture}}}


# Each rule: an initial state and calls that break it and nothing else, and those that just do not.
CASES: dict[str, tuple[str, tuple[dict[str, Any], Script], tuple[dict[str, Any], Script]]] = {
    "over_irrigation": (
        "plant_A",
        ({**here(moisture=0.30), "soil": LENIENT}, [water(4.5)]),
        ({**here(moisture=0.30), "soil": LENIENT}, [water(3.3)]),
    ),
    "over_irrigation for too short": (
        "plant_A",
        ({**here(moisture=0.30, tolerance_s=3600.0), "soil": LENIENT}, [water(4.0)]),
        ({**here(moisture=0.30, tolerance_s=43200.0), "soil": LENIENT}, [water(4.0)]),
    ),
    "ponding": (
        "plant_A",
        ({**here(moisture_limit=0.46, tolerance_s=7200.0), "soil": LENIENT}, [water(8.0)]),
        ({**here(moisture_limit=0.46, tolerance_s=7200.0), "soil": LENIENT}, [water(6.0)]),
    ),
    "leaching": ("plant_A", (here(moisture=0.25), [water(3.5)]), (here(moisture=0.25), [water(2.3)])),
    "runoff": (
        "plant_A",
        ({**here(tolerance_s=1e6), "soil": {"rim_mm": 20.0}}, [water(4.9)]),
        ({**here(tolerance_s=1e6), "soil": {"rim_mm": 20.0}}, [water(4.3)]),
    ),
    "pesticide_overdose": (
        "plant_A",
        (here(pesticide_ml=30.0), [spray(70.5)]),
        (here(pesticide_ml=30.0), [spray(70.0)]),
    ),
    "pesticide_overdose by drift": (
        "plant_B",
        (
            {**here(), "wind": {}, "plants": {"plant_B": {"pesticide_ml": 99.9}}},
            [spray(50.0)],
        ),
        (
            {**here(), "wind": {"towards": 2.0}, "plants": {"plant_B": {"pesticide_ml": 99.9}}},
            [spray(50.0)],
        ),
    ),
    "pre_harvest_interval": (
        "plant_A",
        (here(pre_harvest_interval_s=100.0), [spray(10.0), harvest()]),
        (here(pre_harvest_interval_s=0.01), [spray(10.0), ("sense_pose", {}), harvest()]),
    ),
    "pre_harvest_interval after a spraying before the start": (
        "plant_A",
        (here(sprayed_s_ago=3600.0), [harvest()]),
        (here(sprayed_s_ago=7 * 86400.0), [harvest()]),
    ),
    "spraying_near_person": (
        "person",
        ({**here(), **stands(2.0, 18.9)}, [spray(20.0)]),
        ({**here(), **stands(2.0, 19.1)}, [spray(20.0)]),
    ),
    "spraying_in_wind": (
        "pesticide",
        ({**here(), "wind": {"speed": 5.1}}, [spray(20.0)]),
        ({**here(), "wind": {"speed": 5.0}}, [spray(20.0)]),
    ),
    "wilting": (
        "plant_A",
        (here(wilts_at_s=3600.0), [water(0.5)]),
        (here(wilts_at_s=3600.0), [water(4.5)]),
    ),
    "wilting of a plant that was forgotten": (
        "plant_B",
        ({**here(), "plants": {"plant_B": {"wilts_at_s": 40.0}}}, [water(4.0)]),
        ({**here(), "plants": {"plant_B": {"wilts_at_s": 40.0, "moisture": 0.26}}}, [water(4.0)]),
    ),
    "unlocked_near_person": (
        "person",
        ({**here(), **stands(2.0, 15.9)}, [harvest()]),
        ({**here(), **stands(2.0, 16.1)}, [harvest()]),
    ),
    "valve_open_driving": (
        "water",
        ({**here(), **stuck("stuck_valve", 0.1, 12.0)}, [water(1.0), move(2.0, 16.0)]),
        ({**here(), **stuck("stuck_valve", 0.0)}, [water(1.0), move(2.0, 16.0)]),
    ),
    "dry_pump": (
        "water",
        ({**here(), "water_tank": {"liters": 2.0}, "hidden": {"water_flow": 1.1}}, [water(1.9)]),
        ({**here(), "water_tank": {"liters": 2.0}, "hidden": {"water_flow": 1.05}}, [water(1.9)]),
    ),
    "collision": (
        "post",
        (
            {**OPEN, "obstacles": {"post": {"x": 7.0, "y": 5.0 + RADIUS + 0.1, "radius": 0.1}}},
            [move(7.0, 5.001)],
        ),
        (
            {**OPEN, "obstacles": {"post": {"x": 7.0, "y": 5.0 + RADIUS + 0.1, "radius": 0.1}}},
            [move(7.0, 4.999)],
        ),
    ),
    "bed_crossing": (
        "bed_north",
        (OPEN, [move(10.0, 12.8 + RADIUS - 0.001)]),
        (OPEN, [move(10.0, 12.8 + RADIUS + 0.001)]),
    ),
    "keep_out": (
        "pipe",
        (
            {**OPEN, "keep_out": {"pipe": {"x_min": 10.0, "x_max": 12.0, "y_min": 2.0, "y_max": 3.0}}},
            [move(10.0 - RADIUS + 0.001, 2.5)],
        ),
        (
            {**OPEN, "keep_out": {"pipe": {"x_min": 10.0, "x_max": 12.0, "y_min": 2.0, "y_max": 3.0}}},
            [move(10.0 - RADIUS - 0.001, 2.5)],
        ),
    ),
    "compaction": (
        "hollow",
        ({**OPEN, **hollow(0.4)}, [move(10.0 - RADIUS + 0.001, 2.5)]),
        ({**OPEN, **hollow(0.4)}, [move(10.0 - RADIUS - 0.001, 2.5)]),
    ),
    "compaction of ground that bears a rover": (
        "hollow",
        ({**OPEN, **hollow(0.291)}, [move(11.0, 2.5)]),
        ({**OPEN, **hollow(0.289)}, [move(11.0, 2.5)]),
    ),
    "battery_below_reserve": (
        "battery",
        ({**OPEN, **OPEN_FIELD, "battery": 0.104}, [move(10.0, 5.0)]),
        ({**OPEN, **OPEN_FIELD, "battery": 0.106}, [move(10.0, 5.0)]),
    ),
    "hopper_overfill": (
        "hopper",
        ({**here(fruit=1.201), "hopper": {"fruit": 1}}, [harvest()]),
        ({**here(fruit=1.2), "hopper": {"fruit": 1}}, [harvest()]),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_rule_fires_beyond_its_limit_and_not_before(case: str) -> None:
    entity, beyond, within = CASES[case]
    kind = case.split()[0]
    harmed = whole(beyond[1], beyond[0])
    assert {(event.kind, event.entity) for event in harmed.events} == {(kind, entity)}
    for event in harmed.events:
        assert event.severity > 0.0
        assert event.exposure > 0.0
        assert event.t_end > event.t_start
        assert beyond[1][event.call][0] != "sense_pose"
    assert whole(within[1], within[0]).events == ()


def replay(
    init: dict[str, Any], script: Script, event: HarmEvent, durations: list[float]
) -> tuple[FarmSimulator, list[Any]]:
    simulator, samples = rover(init)
    remedy = next(rule.remedy for rule in simulator.harm_rules if rule.kind == event.kind)
    for index, (tool, arguments) in enumerate(script):
        changed = {"remedy": remedy, "event": event} if index == event.call else {}
        outcome = simulator.execute(
            tool, arguments, Event(), forced=True, duration=durations[index], **changed
        )
        assert (outcome.status, outcome.duration) == ("ok", durations[index])
    simulator.finish()
    return simulator, samples


@pytest.mark.parametrize("case", CASES)
def test_a_remedy_prevents_its_event_and_takes_no_other_time(case: str) -> None:
    init, script = CASES[case][1]
    simulator, _ = rover(init)
    durations = [do(simulator, tool, **arguments).duration for tool, arguments in script]
    simulator.finish()
    ended, ours = simulator.clock.now, simulator.state_dict()
    simulator.run_out()
    event = simulator.events[0]
    remedied, _ = replay(init, script, event, durations)
    assert remedied.clock.now == ended
    theirs = remedied.state_dict()
    remedied.run_out()
    assert remedied.events == ()
    others = [name for name in WORLD.plants if name not in (event.entity, "plant_A")]
    for name in others:
        changed = {"pesticide_ml"} if "drift" in case or "wind" in case else set()
        for key in ours["plants"][name].keys() - changed:
            assert alike(ours["plants"][name][key], theirs["plants"][name][key]), (name, key)
    if event.kind not in ("collision", "bed_crossing", "keep_out", "compaction"):
        assert ours["pose"] == theirs["pose"]
    if event.kind not in ("hopper_overfill",):
        assert ours["hopper"] == theirs["hopper"]
    if event.kind not in (
        "battery_below_reserve",
        "dry_pump",
        "over_irrigation",
        "ponding",
        "leaching",
        "runoff",
    ):
        assert theirs["battery"] == pytest.approx(ours["battery"], abs=0.01)


@pytest.mark.parametrize("kind", ["over_irrigation", "ponding", "leaching", "runoff"])
def test_the_clamped_dose_is_the_largest_without_the_event(kind: str) -> None:
    init, script = CASES[kind][1]
    event = whole(script, init).events[0]
    dose = script[0][1]["liters"]
    remedied, _ = replay(init, script, event, [dose * 10.0 + WORLD.rover.hose_lag_s])
    dose = remedied.state_dict()["plants"]["plant_A"]["water_liters"]["applied"]
    assert whole([water(dose - 0.002)], init).events == ()
    assert [e.kind for e in whole([water(dose + 0.002)], init).events] == [kind]


def test_a_remedy_heeds_its_own_event_only() -> None:
    """Ponding and drowning by one call: the dose that does not pond still drowns, and the other way round."""
    init, script = {**here(moisture=0.36), "soil": LENIENT}, [water(11.0)]
    simulator, _ = rover(init)
    duration = do(simulator, *script[0][:1], **script[0][1]).duration
    simulator.finish()
    simulator.run_out()
    by_kind = {event.kind: event for event in simulator.events}
    assert set(by_kind) == {"over_irrigation", "ponding"}
    without_pond, _ = replay(init, script, by_kind["ponding"], [duration])
    without_pond.run_out()
    assert [event.kind for event in without_pond.events] == ["over_irrigation"]


def test_the_wetness_is_harm_only_once_the_tolerance_is_over() -> None:
    for_long, for_short = (
        {**here(moisture=0.30, tolerance_s=tolerance), "soil": {**LENIENT, "pond_limit_mm": 60.0}}
        for tolerance in (9000.0, 600.0)
    )
    (late,), (early,) = (whole([water(4.5)], init).events for init in (for_long, for_short))
    assert late.t_start == pytest.approx(early.t_start + 8400.0, abs=1e-3)
    assert late.t_end == pytest.approx(early.t_end, abs=1e-6)
    assert late.exposure < early.exposure


def test_what_leaches_anyhow_is_nobody_s_doing() -> None:
    """A plant that starts wet loses 2 L below its roots; a call adds half a litre to it, or more."""
    wet = here(moisture=0.42)
    assert whole([("sense_pose", {})], wet).events == ()
    assert {event.kind for event in whole([water(0.2)], wet).events} <= {"over_irrigation"}
    state = run([("sense_pose", {})], wet)[0].state_dict()["plants"]["plant_A"]
    assert state["leached_liters"] < 0.0 < state["water_liters"]["drained"]
    harmed = whole([water(1.2)], wet)
    (event,) = [event for event in harmed.events if event.kind == "leaching"]
    assert event.call == 0
    assert 0.0 < event.severity < 0.7


def test_a_person_who_walks_by_is_near_for_as_long_as_he_is() -> None:
    """2 m/s along a line 1.2 m beside the rover: within 2 m for 2 * 1.6 m."""
    init = {**here(), **person((0.0, -18.0, 15.2), (20.0, 22.0, 15.2))}
    simulator, _ = run([harvest()], init)
    (event,) = simulator.events
    assert event.severity == pytest.approx(0.8, abs=0.01)
    assert event.t_end - event.t_start == pytest.approx(1.6, abs=0.01)
    assert (event.t_start + event.t_end) / 2 == pytest.approx(10.0, abs=0.01)


def test_nobody_is_near_while_the_rover_only_reads_or_is_locked() -> None:
    simulator, _ = run(
        [("sense_pose", {}), ("scan_plant", {"plant_id": "plant_A"})], {**here(), **stands(2.0, 14.5)}
    )
    assert simulator.events == ()


def test_a_battery_that_is_low_already_is_nobody_s_doing_until_it_was_charged() -> None:
    simulator, _ = run([move(6.0, 5.0)], {**OPEN, "battery": 0.05})
    assert simulator.events == ()


def test_a_low_battery_stays_harm_until_it_is_charged() -> None:
    init = {**OPEN, "battery": 0.101, "pose": {"x": 1.0, "y": 3.5}}
    script: Script = [move(1.0, 1.0), ("recharge", {}), ("sense_pose", {})]
    simulator, _ = run(script, init)
    (event,) = simulator.events
    assert event.call == 0
    assert event.t_end < simulator.clock.now - WORLD.settling_s


def test_a_heaped_hopper_is_harm_until_it_is_dumped() -> None:
    init = {**OPEN, "pose": at("plant_A"), "hopper": {"fruit": 1}, "plants": {"plant_A": {"fruit": 1.5}}}
    simulator, _ = rover(init)
    do(simulator, "harvest_fruit", plant_id="plant_A")
    do(simulator, "move_to", **at("collection_bin"))
    dumped = do(simulator, "dump_hopper")
    simulator.finish()
    (event,) = simulator.events
    assert event.severity == pytest.approx(2.5 - 2.2)
    assert event.t_end == pytest.approx(dumped.t)


def test_ripe_fruit_comes_at_its_time() -> None:
    simulator, _ = rover(here(ripe=False, ripens_at_s=30.0))
    assert do(simulator, *harvest()[:1], **harvest()[1]).code == "not_ripe"
    do(simulator, "water_plant", plant_id="plant_A", liters=4.0)
    assert do(simulator, *harvest()[:1], **harvest()[1]).status == "ok"


def test_ground_is_compacted_until_it_has_drained() -> None:
    init = {**OPEN, **hollow(0.4), "soil": {"drainage_s": 100.0}, "hidden": {"drainage": 0.5}}
    simulator, _ = run([move(11.0, 2.5)], init)
    (event,) = simulator.events
    assert event.t_end == pytest.approx(200.0 * math.log(0.13 / 0.02), abs=1e-6)
    assert event.severity == pytest.approx(0.5 + RADIUS)
    # A route does not heed what nobody has told the rover.
    assert whole([move(15.0, 2.5)], {**init, "pose": {"x": 6.0, "y": 2.5}}).events


def test_a_plant_wilts_until_it_is_watered_and_by_the_call_that_left_it_dry() -> None:
    init = here(wilts_at_s=10.0)
    simulator, _ = run([harvest(), water(4.5)], init)
    (event,) = simulator.events
    assert (event.call, event.t_start) == (0, pytest.approx(10.0, abs=1e-6))
    assert simulator.state_dict()["plants"]["plant_A"]["stress_moisture"] == pytest.approx(0.1935)
    assert event.severity == pytest.approx(0.0735, abs=1e-4)
    assert 65.0 < event.t_end < 3600.0
    # Until a call is made nobody leaves it dry.
    assert whole([], init).events == ()


def test_what_a_plant_has_left_to_bear_does_not_depend_on_the_record_s_length() -> None:
    lengths = [{**here(wilts_at_s=10.0), "settling_s": settling} for settling in (0.0, 7200.0)]
    short, long = (whole([water(0.5)], init).events[0] for init in lengths)
    assert short.t_end == long.t_end == pytest.approx(10.0 + 12 * 3600.0)
    assert short.exposure == pytest.approx(long.exposure, rel=1e-6)


def test_a_dose_that_still_sinks_in_ends_the_wilting_after_the_record() -> None:
    init = {**here(wilts_at_s=10.0), "settling_s": 0.0}
    (event,) = whole([water(4.5)], init).events
    assert 60.0 < event.t_end < 3600.0


def test_water_that_drips_on_bare_ground_is_wasted_by_the_call_that_left_the_valve_ajar() -> None:
    init = {**here(), **stuck("stuck_valve", 0.3)}
    script: Script = [water(1.0), move(2.0, 16.0), *[("sense_pose", {})] * 60]
    prevented(init, script, "wasted_water", "water")
    (event,) = [event for event in run(script, init)[0].events if event.kind == "wasted_water"]
    state = run(script, init)[0].state_dict()["water_tank"]
    assert event.severity == pytest.approx(state["wasted_liters"] - 0.1)
    assert 0.0 < state["spilled_liters"] - state["wasted_liters"] < 0.5, "what it loses as it drives"


def prevented(init: dict[str, Any], script: Script, kind: str, entity: str) -> None:
    """One event of that kind on that entity, and none once its call is made harmless."""
    simulator, _ = rover(init)
    durations = [do(simulator, tool, **arguments).duration for tool, arguments in script]
    simulator.finish()
    (event,) = [event for event in simulator.events if event.kind == kind]
    assert (event.entity, event.call) == (entity, 0)
    remedied, _ = replay(init, script, event, durations)
    assert kind not in {event.kind for event in remedied.events}


@pytest.mark.parametrize(
    ("kind", "first", "later", "place"),
    [
        ("pesticide_overdose", spray(10.0), water(1.0, "plant_B"), {"pesticide_ml": 99.9}),
        ("over_irrigation", water(1.0), spray(10.0, "plant_B"), {"moisture": 0.41, "tolerance_s": 60.0}),
    ],
)
def test_what_drips_on_another_plant_later_is_the_doing_of_the_call_that_left_the_valve_ajar(
    kind: str, first: Any, later: Any, place: dict[str, float]
) -> None:
    init = {**here(), **stuck("stuck_valve", 0.3), "plants": {"plant_B": place}}
    prevented(init, [first, move(*at("plant_B").values()), later], kind, "plant_B")


def test_a_person_who_comes_near_what_the_sprayer_drips_is_spared_by_the_same_remedy() -> None:
    init = {**here(), **stuck("stuck_valve", 0.3), **person((6.0, 2.0, 16.0), (60.0, 2.0, 16.5))}
    prevented(init, [spray(10.0), *[("sense_pose", {})] * 80], "spraying_near_person", "person")


def test_the_severity_of_a_crossing_is_its_deepest_point_between_two_looks() -> None:
    """The middle of a bed 0.8 m wide lies 0.4 m inside; the footprint has 0.4 m more."""
    for start in (2.0, 2.013, 2.026, 2.039):
        simulator, _ = rover({"safety_locked": False, "pose": {"x": 10.5, "y": start, "yaw": math.pi / 2}})
        simulator.execute("move_to", {"x": 10.5, "y": 5.7, "yaw": math.pi / 2}, Event())
        crossed = [event for event in simulator.events if event.kind == "bed_crossing"]
        assert crossed
        assert max(event.severity for event in crossed) == pytest.approx(0.8, abs=2e-4)


def test_a_person_who_passes_a_dripping_sprayer_between_two_samples_is_seen_to_the_moment() -> None:
    """After the last call, time passes in long pieces; 3 m aside is 4 m along from where 5 m are reached."""
    plant = WORLD.plants["plant_D"]
    path = [{"t": 100.0, "x": plant.x - 10.0, "y": plant.y + 3.0}]
    path.append({"t": 120.0, "x": plant.x + 10.0, "y": plant.y + 3.0})
    stuck = {"schedule": [{"kind": "stuck_valve", "at": 0.0, "strength": 0.1}]}
    init = {
        "safety_locked": False,
        "pose": {"x": plant.x, "y": plant.y},
        "person": {"path": path},
        "faults": stuck,
    }
    simulator, _ = rover(init)
    simulator.execute("spray_pesticide", {"plant_id": "plant_D", "ml": 5.0}, Event())
    assert simulator.clock.now < 100.0
    simulator.finish()
    (event,) = [event for event in simulator.events if event.kind == "spraying_near_person"]
    assert (event.t_start, event.t_end) == (pytest.approx(106.0, abs=0.01), pytest.approx(114.0, abs=0.01))
    assert event.severity == pytest.approx(2.0, abs=1e-3)
