"""The detection probability: near 1 for what a sensor shows, the false-alarm rate for what none can show."""

from dataclasses import replace
from itertools import pairwise
from operator import attrgetter
from threading import Event
from typing import Any

import arm_rig
import numpy as np
import pytest
from farm_rig import WORLD, Script, at, executed
from plain_replay import replay_episode

from configs.variation import Variation
from configs.worlds_loader import load_world, make_simulator
from core_eval.harm.counterfactual import Change
from core_eval.harm.detection.detect import FEWEST, Courses, Detection, TooRare, _add, detect, drawn_courses
from core_eval.harm.detection.discriminant import LogLikelihoodRatio, Sides
from core_eval.harm.detection.rigs import Key, Kind, play_rigs
from core_eval.harm.detection.roc import FALSE_ALARMS, Roc
from core_eval.harm.detection.telemetry_vector import ANSWERS, stretches, vector_of
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.member import Driver, Seldom, Track
from core_eval.harm.twin.parameters import Priors
from devices.harm import LEAVE_OUT, HarmEvent
from devices.sensors import Sample
from sims.coarse_sensors import read_later
from sims.farm_rover.simulator import FarmSimulator
from sims.overrides import merge_world
from sims.robotic_arm.handling import BenchHandling
from sims.robotic_arm.simulator import ArmSimulator

SPREADS = load_world("farm_rover").spreads
SHORT = {"settling_s": 60.0, "wind": {"speed": 0.0}, "safety_locked": False}
FINER = {
    "person_near": {"kind": "switch", "period": 0.5},
    "moisture_probe": {"kind": "quantised", "period": 10.0, "resolution": 0.01, "noise": 0.001},
}
CROSSING: Script = [("move_to", {"x": 10.0, "y": 12.4}), ("move_home", {})]
WATERING: Script = [("water_plant", {"plant_id": "plant_A", "liters": 3.0})]
WET = {**SHORT, "pose": at("plant_A"), "plants": {"plant_A": {"moisture": 0.3}}}
VISITED = {
    **SHORT,
    "person": {"path": [{"t": 0.0, "x": 6.0, "y": 5.0}, {"t": 600.0, "x": 6.0, "y": 5.0}]},
}


def kind_of(script: Script, init: dict[str, Any], finer: dict[str, Any] | None = None, seed: int = 3) -> Kind:
    world = merge_world(WORLD, {"sensors": finer or {}})
    return Kind(
        lambda: FarmSimulator(world),
        init,
        seed,
        LoggedEpisode.following(executed(script, init, seed=seed), ()),
        Priors.of(world, {}),
        SPREADS,
    )


def events_of(kind: Kind) -> dict[Key, str]:
    calls = [one.call for one in kind.episode.calls]
    replay = replay_episode(kind.make_simulator, kind.init, kind.seed, calls)
    remedies = {rule.kind: rule.remedy for rule in replay.harm_rules}
    return {(one.kind, one.entity, one.call): remedies[one.kind] for one in replay.events}


def detected(
    script: Script, init: dict[str, Any], finer: dict[str, Any] | None = None
) -> dict[str, Detection]:
    kind = kind_of(script, init, finer)
    found = detect(kind, events_of(kind), training=25, null=40)
    return {key[0]: one for key, one in found.items() if isinstance(one, Detection)}


@pytest.mark.slow
def test_a_drive_over_a_bed_that_the_rover_itself_reports_is_detected() -> None:
    found = detected(CROSSING, SHORT)["bed_crossing"]
    assert (found.happens, found.null, found.harmful) == (1.0, 40, 40)
    assert found.probability(found.groups) > 0.99
    assert found.probability((ANSWERS,)) > 0.99, "its pose is part of a result"
    low, high = found.interval(found.probability(found.groups))
    assert low > 0.9 and high == 1.0


@pytest.mark.slow
def test_a_person_whom_no_sensor_sees_is_detected_as_often_as_a_false_alarm() -> None:
    calls: Script = [("move_to", {"x": 7.5, "y": 5.0})]
    (found,) = detected(calls, VISITED).values()
    assert found.groups == () and found.harmful == 40
    assert found.probability(found.groups) == pytest.approx(FALSE_ALARMS)
    (seen,) = detected(calls, VISITED, FINER).values()
    assert seen.groups == ("person_near",)
    assert seen.probability(seen.groups) > 0.99
    assert seen.probability((ANSWERS,)) == pytest.approx(FALSE_ALARMS), "the sensor is not among these"


@pytest.mark.slow
def test_wet_soil_that_says_wet_is_hindsight_until_a_probe_gives_a_number() -> None:
    # The dose is in the root zone after some two hours.
    probe = {"moisture_probe": FINER["moisture_probe"] | {"period": 600.0}}
    found = detected(WATERING, {**WET, "settling_s": 7200.0}, probe)["leaching"]
    assert found.happens > 0.9, "in drier soil, within the spread of a hand probe, it does not"
    coarse = [group for group in found.groups if group not in FINER]
    assert found.probability(coarse) < 0.3
    assert found.probability([*coarse, "moisture_probe"]) > 0.9


def test_no_more_rigs_are_drawn_than_show_an_event_often_enough() -> None:
    kind = kind_of([("move_to", {"x": 7.5, "y": 5.0})], VISITED)
    ((key, remedy),) = events_of(kind).items()
    sets, drawn, happened, *_ = drawn_courses(kind, {key: remedy}, (30, 60), enough=22)
    assert [len(one[key].harmful) for one in sets] == [22, 22] and drawn == happened[key] == 44
    rigs = [{vector.seed for vector in one[key].harmful} for one in sets]
    assert rigs[0].isdisjoint(rigs[1]), "it is judged by other rigs than it is learned from"
    (rig,) = play_rigs(kind, {key: remedy}, 1, settled={key})
    assert rig.happened == {key} and not rig.harmless, "a settled event is not played without"
    courses = {key: Courses()}
    _add(courses, rig, stretches(kind.episode, 60.0, {0}))
    assert courses == {key: Courses(rigs=1)}, "harm that nothing prevents is on neither side"
    rare = ("ponding", "plant_B", 0)
    both, drawn, *_ = drawn_courses(kind, {key: remedy, rare: "clamp_dose"}, (30, 60), enough=22)
    assert drawn == 44, "after 20 rigs without it, it is known to be too rare"
    assert [(one[rare].rigs, len(one[rare].harmful)) for one in both] == [(FEWEST, 0), (0, 0)]
    for one, alone in zip(both, sets, strict=True):
        same = [[vector.answers for vector in two[key].null] for two in (one, alone)]
        assert same[0] == same[1], "an event is judged by the same rigs as it is alone"
    sets, drawn, *_ = drawn_courses(kind, {rare: "clamp_dose"}, (3, 60), enough=22)
    assert drawn == 3 and not sets[1][rare].null, "the statistic is learned from none of these"


def test_a_run_that_goes_on_from_a_call_is_the_whole_run_with_this_change() -> None:
    kind = kind_of([("sense_pose", {}), *WATERING, ("move_home", {})], WET, FINER)
    driver = Driver(kind.make_simulator)
    start = {**kind.init, "plants": {"plant_A": {"moisture": 0.31}}}
    track = driver.drive(kind.episode, {}, 5, start=start, forks_from=1)
    (event,) = (one for one in track.events if one.kind == "leaching")
    change = Change((1,), LEAVE_OUT, event)
    went_on = driver.drive_on(kind.episode, driver.forks[1], change)
    assert went_on == driver.drive(kind.episode, {}, 5, change, start=start) != track
    assert track == driver.drive(kind.episode, {}, 5, start=start), "the fork changed nothing of the first"


@pytest.mark.parametrize("told", [{}, {"lossy": True}, {"lossy": True, "deferred": True}])
def test_a_run_that_has_become_the_first_one_again_takes_the_rest_from_it(told: dict[str, bool]) -> None:
    script: Script = [
        ("move_to", {"x": 7.5, "y": 5.0}),
        ("lock_safety_mode", {}),
        ("unlock_safety_mode", {}),
        ("move_to", {"x": 3.0, "y": 5.0}),
        ("lock_safety_mode", {}),
    ]
    kind = kind_of(script, VISITED, FINER)
    driver = Driver(kind.make_simulator, **told)
    driver.drive(kind.episode, {}, 5, start=kind.init, forks_from=0)
    first, *later = [one for one in driver.simulator.events if one.kind == "unlocked_near_person"]
    assert first.call == 0 and later, "there is harm on both sides of where they join"
    change = Change((0,), "wait", first)
    went_on = driver.drive_on(kind.episode, driver.forks[0], change)
    assert driver.simulator.clock.now < kind.episode.calls[3].start, "the rest is not played"
    assert went_on == driver.drive(kind.episode, {}, 5, change, start=kind.init)
    assert [one.call for one in went_on.events] == [one.call for one in later]


@pytest.mark.parametrize("remedy", ["wait", LEAVE_OUT])
def test_an_arm_that_only_waited_goes_on_as_before(remedy: str) -> None:
    init = {**arm_rig.UNLOCKED, "light_curtain": [{"at": 0.2, "seconds": 0.3}]}
    moves = [arm_rig.to(0.5, y, 0.4) for y in (0.2, 0.0, 0.2, -0.1)]
    episode = LoggedEpisode.following(arm_rig.executed(moves, init), [])
    driver = Driver(lambda: ArmSimulator(arm_rig.WORLD), lossy=True)
    first = driver.drive(episode, {}, 5, start=init, forks_from=0)
    (event,) = first.events
    change = Change((event.call,), remedy, event)
    went_on = driver.drive_on(episode, driver.forks[0], change)
    goes_on = driver.simulator.clock.now < episode.calls[3].start
    assert goes_on == (remedy == "wait"), "an arm that did not move starts the next call elsewhere"
    assert went_on == driver.drive(episode, {}, 5, change, start=init) != first
    assert not went_on.events


def test_harm_near_the_end_of_a_record_that_counts_as_in_progress_is_played_to_the_end() -> None:
    init = {**arm_rig.UNLOCKED, "light_curtain": [{"at": 0.1, "seconds": 0.55}]}
    script = [arm_rig.to(0.5, 0.2, 0.4)]
    episode = LoggedEpisode.following(arm_rig.executed(script, init), arm_rig.run(script, init)[1])
    driver = Driver(lambda: ArmSimulator(arm_rig.WORLD))
    (event,) = driver.drive(episode, {}, 5, start=init, forks_from=0).events
    assert 0.05 < episode.end - event.t_end < 0.2
    change = Change((0,), "wait", event)
    went_on = driver.drive_on(episode, driver.forks[0], change)
    assert went_on == driver.drive(episode, {}, 5, change, start=init)


def test_an_arm_that_refused_a_call_stands_where_it_stood_and_rehearses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rehearsed: list[float] = []
    rehearse = BenchHandling._rehearse

    def noted(*call: Any) -> float:
        rehearsed.append(rehearse(*call))
        return rehearsed[-1]

    monkeypatch.setattr(BenchHandling, "_rehearse", noted)
    script = [arm_rig.place("bin_left"), arm_rig.to(0.5, 0.2, 0.4), arm_rig.to(0.5, 0.1, 0.4)]
    calls = arm_rig.executed(script)
    rig, samples = arm_rig.arm()
    for tool, arguments in script:
        arm_rig.do(rig, tool, **arguments)
    rig.finish()
    assert calls[0].status == "rejected"
    driver = Driver(lambda: ArmSimulator(arm_rig.WORLD))
    episode = LoggedEpisode.following(calls, samples)
    track = driver.drive(episode, {}, 0, start=arm_rig.UNLOCKED)
    assert (track.samples, track.end_state) == (samples, rig.state_dict()) and not rehearsed
    driver.drive(episode, {}, 0, Change((1,), LEAVE_OUT), start=arm_rig.UNLOCKED)
    assert len(rehearsed) == 1, "without the second call the third starts elsewhere"


def test_an_idle_rig_shows_some_of_its_samples_with_the_same_noise() -> None:
    walk = {"path": [{"t": 0.0, "x": 6.0, "y": 5.0}, {"t": 150.0, "x": 6.0, "y": 9.0}]}
    script: Script = [*WATERING, ("wait", {"seconds": 300.0}), ("move_home", {})]
    probe = {"moisture_probe": FINER["moisture_probe"] | {"noise": 0.02, "resolution": 0.001, "dropout": 0.1}}
    kind = kind_of(script, {**WET, "settling_s": 900.0, "person": walk}, FINER | probe)

    def played(seldom: Seldom | None) -> Track:
        driver = Driver(kind.make_simulator, lossy=True)
        driver.seldom = seldom
        return driver.drive(kind.episode, {}, 5, start=kind.init)

    # In the drive each sensor has its own period, and in the wait and after it one of 60 s.
    only_waits = Seldom(most=10**6, waiting=5, least=0.5, longest=60.0, quick=0.5, settling=60.0)
    whole, thin = played(None), played(only_waits)
    key = attrgetter("sensor", "t", "value")
    assert {key(one) for one in thin.samples} < {key(one) for one in whole.samples}
    assert thin.terminal == whole.terminal
    # The soil is solved from sample to sample, and rounds so.
    (harm,), (same,) = thin.events, whole.events
    assert (harm.kind, harm.entity, harm.call) == (same.kind, same.entity, same.call)
    assert harm.t_start == pytest.approx(same.t_start) and harm.exposure == pytest.approx(same.exposure)

    def times(track: Track, sensor: str, begin: float, end: float) -> list[float]:
        return [one.t for one in track.samples if one.sensor == sensor and begin < one.t < end]

    waited, end = kind.episode.calls[1], kind.episode.end
    seconds = times(thin, "moisture_probe.plant_A", waited.start, waited.end)
    assert seconds and all(later - t >= 60.0 for t, later in pairwise(seconds))
    walked = waited.start, 150.0
    assert times(thin, "person_near", *walked) == times(whole, "person_near", *walked) != []
    driven = waited.end + 1.0, end
    assert (
        times(thin, "moisture_probe.plant_A", *driven)
        == times(whole, "moisture_probe.plant_A", *driven)
        != []
    )
    assert len(times(thin, "person_near", end, end + 900.0)) <= 16
    rare = played(replace(only_waits, settling=300.0))
    assert times(rare, "moisture_probe.plant_A", 0.0, end) == times(thin, "moisture_probe.plant_A", 0.0, end)
    assert len(times(rare, "moisture_probe.plant_A", end, end + 900.0)) <= 3
    seldom = played(replace(only_waits, least=2.0, quick=2.0))
    (less,) = seldom.events
    assert (less.kind, less.call, less.t_start) == (harm.kind, harm.call, pytest.approx(harm.t_start))
    for begin, until in (walked, driven):
        # At whole multiples, so that several sensors share the steps of the physics.
        near = [one for one in seldom.samples if one.sensor == "person_near" and begin < one.t < until]
        assert near and all(one.t % 2.0 == pytest.approx(0.0) for one in near)
        assert {key(one) for one in near} < {key(one) for one in whole.samples}


def test_what_harm_does_not_touch_shows_the_same_on_a_drawn_rig_without_it() -> None:
    """A leak goes on through a wait on one of the courses: it must not be read more often there."""
    finer = {
        "fruit_scale": {"kind": "quantised", "period": 10.0, "resolution": 0.01, "noise": 0.1},
        "person_distance": {"kind": "continuous", "period": 0.5, "noise": 0.2},
    }
    script: Script = [
        ("spray_pesticide", {"plant_id": "plant_A", "ml": 120.0}),
        ("wait", {"seconds": 600.0}),
        ("lock_safety_mode", {}),
    ]
    sticks = {"schedule": [{"kind": "stuck_valve", "at": 0.0, "strength": 0.05}]}
    kind = kind_of(script, {**WET, "settling_s": 900.0, "faults": sticks}, finer)
    harm = {key: remedy for key, remedy in events_of(kind).items() if key[0] == "pesticide_overdose"}
    ((key, _),) = harm.items()
    (rig,) = play_rigs(kind, harm, 1)
    limits = stretches(kind.episode, 900.0, {0})
    with_it, without = (vector_of(track, limits) for track in (rig.track, rig.harmless[key]))
    for name in finer:
        assert with_it.of(name).tolist() == without.of(name).tolist(), name
    times = [
        [(name, t) for name, own in track.readings.items() for t in own[::4]]
        for track in (rig.track, rig.harmless[key])
    ]
    assert {name for name, _ in times[0]} == {
        name for name, spec in rig.track.specs.items() if spec.period is not None
    }
    assert times[0] == times[1] and len(times[0]) < 2000


@pytest.mark.parametrize("stuck", ["moisture.plant_A", "flow_meter", None])
def test_readings_that_are_made_later_are_the_samples_of_the_sensors(stuck: str | None) -> None:
    walk = {"path": [{"t": 0.0, "x": 3.0, "y": 15.0}, {"t": 300.0, "x": 9.0, "y": 9.0}]}
    probe = {
        "kind": "quantised",
        "period": 10.0,
        "resolution": 0.001,
        "noise": 0.02,
        "dropout": 0.1,
        "delay": 0.2,
    }
    finer = {
        **FINER,
        "moisture_probe": probe,
        "flow_meter": {"kind": "quantised", "period": 2.0, "resolution": 0.005, "delay": 0.05},
        "imu": {"kind": "continuous", "period": 0.5, "noise": 0.02, "drift": 0.1, "low": 0.0},
        "person_distance": {
            "kind": "quantised",
            "period": 1.0,
            "resolution": 0.1,
            "noise": 0.05,
            "high": 6.0,
        },
    }
    script: Script = [
        *WATERING,
        ("water_plant", {"plant_id": "plant_B", "liters": 1.0}),
        ("wait", {"seconds": 300.0}),
        ("move_home", {}),
    ]
    faults = {} if stuck is None else {"schedule": [{"kind": "stuck_sensor", "entity": stuck, "at": 3.0}]}
    kind = kind_of(script, {**WET, "settling_s": 900.0, "person": walk, "faults": faults, "sensors": finer})
    assert [one.call.status for one in kind.episode.calls].count("rejected") == 1
    change = Change((0,), LEAVE_OUT, HarmEvent("leaching", "plant_A", 0, 0.0, 1.0, 1.0, 1.0))

    def tracks(seldom: Seldom | None, *, deferred: bool) -> list[Track]:
        driver = Driver(kind.make_simulator, lossy=True, deferred=deferred)
        driver.seldom = seldom
        track = driver.drive(kind.episode, {}, 5, start=kind.init, ask=True, forks_from=0)
        return [track, driver.drive_on(kind.episode, driver.forks[0], change, ask=True)]

    for seldom in (None, Seldom(most=10, waiting=5, least=0.5, longest=60.0, quick=0.5, settling=60.0)):
        for now, later in zip(tracks(seldom, deferred=False), tracks(seldom, deferred=True), strict=True):
            assert now.events == later.events and not now.readings
            for name, spec in now.specs.items():
                samples = [(one.t, one.value) for one in now.samples if one.sensor == name]
                if spec.period is None:
                    assert samples == [(one.t, one.value) for one in later.samples if one.sensor == name]
                    continue
                words, rows = now.words[name], np.reshape(later.readings[name], (-1, 4)).tolist()
                noted = (
                    (int(tick), int(index), bool(sure), quantity) for tick, index, sure, quantity in rows
                )
                made = zip(*read_later(name, later.specs[name], 5, noted), strict=True)
                assert samples == [(t, words[v] if isinstance(v, bool) else v) for t, v in made], name


def test_who_is_seen_at_a_sensor_s_own_times_cuts_no_physics() -> None:
    walk = {"path": [{"t": 0.0, "x": 7.0, "y": 5.0}, {"t": 700.0, "x": 7.0, "y": 16.0}]}
    near = {"person_near": {"kind": "switch", "period": 0.5}}
    steps = []
    for sensors in (near, {"person_near": {"kind": "switch"}}):
        simulator, samples = make_simulator(load_world("farm_rover")), list[Sample]()
        simulator.subscribe(samples.append)
        simulator.init({"person": walk, "sensors": sensors}, 3)
        simulator.sample_period, count = 60.0, []
        evolve = simulator.evolve
        simulator.evolve = lambda seconds: (count.append(seconds), evolve(seconds))[1]  # type: ignore[method-assign] # noqa: B023
        simulator.rests = True
        simulator.execute("wait", {"seconds": 600.0}, Event())
        steps.append(len(count))
        seen = [one for one in samples if one.sensor == "person_near"]
        gone = next(one.t for one in seen if not one.value)
        assert gone == pytest.approx(220.0, abs=1.5), "3.5 m up the field it is out of the detector's range"
    assert steps[0] <= 12 and steps[1] >= 600, steps


def test_what_happens_on_too_few_rigs_has_no_probability() -> None:
    kind = kind_of([("sense_pose", {})], SHORT)
    key = ("ponding", "plant_A", 0)
    assert detect(kind, {key: "clamp_dose"}, 4, 4) == {key: TooRare(0.0)}


def test_the_same_seed_draws_the_same_rigs_and_numbers_are_independent_of_their_count() -> None:
    kind = kind_of(WATERING, WET)
    limits = stretches(kind.episode, 60.0, {0})

    def told(first: int, count: int) -> list[list[float]]:
        rigs = play_rigs(kind, {}, count, first)
        return [vector_of(rig.track, limits).of("moisture").tolist() for rig in rigs]

    assert told(0, 3) == told(0, 3) == [*told(0, 1), *told(1, 2)]
    hidden = {str(rig.track.end_state["plants"]["plant_A"]) for rig in play_rigs(kind, {}, 3)}
    assert len(hidden) == 3, "each rig is another one"


def test_a_drawn_rig_has_hidden_parameters_of_its_own() -> None:
    kind = kind_of(WATERING, WET)
    still = Kind(kind.make_simulator, kind.init, 3, kind.episode, kind.priors, {})
    doses = [rig.track.end_state["water_tank"]["liters"] for rig in play_rigs(still, {}, 3)]
    assert len(set(doses)) == 3, "each pump has a flow of its own"


def test_the_start_is_drawn_within_the_spreads_of_the_world() -> None:
    kind = kind_of([("sense_pose", {})], SHORT)
    poses = [rig.track.terminal.registers["sense_pose.x"][0] for rig in play_rigs(kind, {}, 12)]  # type: ignore[union-attr]
    assert all(abs(x - WORLD.pose.x) <= 0.03 + 1e-3 for x in poses) and len(set(poses)) > 3
    still = Kind(kind.make_simulator, kind.init, 3, kind.episode, None, {"pose.x": Variation(one_of=[4.0])})
    (rig,) = play_rigs(still, {}, 1)
    assert rig.track.terminal is not None and rig.track.terminal.registers["sense_pose.x"][0] == 4.0


def gaussian(rng: np.random.Generator, rigs: int, shift: float) -> Sides:
    """Correlated columns with a nuisance of each rig; harm shifts one of them."""
    nuisance = rng.normal(0.0, 1.0, (rigs, 1))
    null = nuisance + rng.normal(0.0, 0.3, (rigs, 30))
    harmful = null.copy()
    harmful[:, 7] += shift
    return Sides({"probe": null}, {"probe": harmful}, range(rigs))


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 0.5, 5.0])
def test_the_threshold_meets_the_false_alarm_rate_on_fresh_harmless_rigs(shift: float) -> None:
    """60 statistics, each judged by 200 null rigs, then 200 fresh ones: 5 % alarms within binomial bounds."""
    rng = np.random.default_rng(5)
    alarms = trials = 0
    for _ in range(60):
        ratio = LogLikelihoodRatio(gaussian(rng, 40, shift), {"probe": np.zeros(30)})
        weights = ratio.joined(("probe",))
        null, fresh = (ratio.parts(gaussian(rng, 200, shift).null) @ weights for _ in range(2))
        if shift == 0.0:
            assert not null.any(), "harm that changes nothing gives no statistic"
            return
        alarms += round(Roc.of(null, fresh).at(FALSE_ALARMS) * 200)
        trials += 200
    # The threshold is itself drawn, which doubles the variance of the binomial one.
    deviation = np.sqrt(2.0 * FALSE_ALARMS * (1.0 - FALSE_ALARMS) / trials)
    assert abs(alarms / trials - FALSE_ALARMS) < 4.0 * deviation


@pytest.mark.slow
def test_the_false_alarm_rate_holds_on_fresh_rigs_of_the_simulator() -> None:
    probe = {"moisture_probe": FINER["moisture_probe"]}
    kind = kind_of(WATERING, {**WET, "settling_s": 60.0, "soil": {"texture": "sand"}}, probe)
    (key,) = (one for one in events_of(kind) if one[0] == "leaching")
    limits = stretches(kind.episode, 60.0, {0})
    drawn = play_rigs(kind, {key: "clamp_dose"}, 150)
    # In drier soil, within the spread of its moisture, the dose does not leach.
    rigs = [rig for rig in drawn if key in rig.harmless][:130]
    assert len(rigs) == 130
    null = np.vstack([vector_of(rig.harmless[key], limits).of("moisture_probe") for rig in rigs])
    harmful = np.vstack([vector_of(rig.track, limits).of("moisture_probe") for rig in rigs])
    sides = Sides({"probe": null[:30]}, {"probe": harmful[:30]}, range(30))
    ratio = LogLikelihoodRatio(sides, {"probe": np.full(null.shape[1], 0.01)})
    scores = ratio.parts({"probe": null}) @ ratio.joined(("probe",))
    alarms = Roc.of(scores[30:80], scores[80:]).at(0.2) * 50
    assert 2 <= alarms <= 20, "20 % of 50 fresh rigs within 4 binomial deviations"


def test_a_nuisance_that_all_columns_share_is_taken_out() -> None:
    rng = np.random.default_rng(1)
    ratio = LogLikelihoodRatio(gaussian(rng, 60, 1.0), {"probe": np.zeros(30)})
    judged = gaussian(rng, 400, 1.0)
    weights = ratio.joined(("probe",))
    found = Roc.of(ratio.parts(judged.null) @ weights, ratio.parts(judged.harmful) @ weights)
    one = Roc.of(judged.null["probe"][:, 7], judged.harmful["probe"][:, 7])
    assert found.at(FALSE_ALARMS) > one.at(FALSE_ALARMS) + 0.3, (found.at(0.05), one.at(0.05))


def test_fewer_rigs_than_columns_tell_nearly_as_much() -> None:
    """Correlations of 20 rigs as they are would find two thirds."""
    shares = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        ratio = LogLikelihoodRatio(gaussian(rng, 20, 1.0), {"probe": np.zeros(30)})
        judged, weights = gaussian(rng, 400, 1.0), ratio.joined(("probe",))
        curve = Roc.of(ratio.parts(judged.null) @ weights, ratio.parts(judged.harmful) @ weights)
        shares.append(curve.at(FALSE_ALARMS))
    assert np.mean(shares) > 0.8


def test_a_useless_group_takes_nothing_away() -> None:
    rng = np.random.default_rng(2)
    sides = gaussian(rng, 60, 2.0)
    noise = rng.normal(0.0, 1.0, (60, 40))
    both = Sides({**sides.null, "noise": noise}, {**sides.harmful, "noise": noise}, sides.pairs)
    ratio = LogLikelihoodRatio(both, {"probe": np.zeros(30), "noise": np.zeros(40)})
    assert ratio.groups == ("probe",)


def test_a_group_that_only_varies_more_gets_no_weight_for_the_rigs_it_was_learned_from() -> None:
    """Of 20 rigs its many columns tell all; joined by these rigs themselves a sixth would be lost."""
    shares = []
    for seed in range(8):
        rng = np.random.default_rng(seed)

        def sides(rigs: int, rng: np.random.Generator = rng) -> Sides:
            null = {"probe": rng.normal(size=(rigs, 1)), "other": rng.normal(size=(rigs, 20))}
            varied = null["other"] + rng.normal(size=(rigs, 20))
            return Sides(null, {"probe": null["probe"] + 1.5, "other": varied}, range(rigs))

        ratio = LogLikelihoodRatio(sides(20), {"probe": np.zeros(1), "other": np.zeros(20)})
        judged = sides(1000)
        null, harmful = ratio.parts(judged.null), ratio.parts(judged.harmful)
        both = (ratio.joined(groups) for groups in (("probe",), ("probe", "other")))
        shares.append([Roc.of(null @ weights, harmful @ weights).at(FALSE_ALARMS) for weights in both])
    alone, joined = np.mean(shares, axis=0)
    assert joined > alone - 0.03


def test_what_harm_does_not_touch_tells_nothing_where_it_happens_on_some_kinds_of_rigs_alone() -> None:
    rng = np.random.default_rng(3)
    null = {name: rng.normal(0.0, 1.0, (60, 5)) for name in ("probe", "other")}
    pairs = np.flatnonzero(null["other"][:, 0] > 0.5)
    harmful = {name: rows[pairs] for name, rows in null.items()}
    harmful["probe"][:, 2] += 2.0
    ratio = LogLikelihoodRatio(Sides(null, harmful, pairs.tolist()), dict.fromkeys(null, np.zeros(5)))
    assert ratio.groups == ("probe",)


def test_a_curve_by_hand() -> None:
    curve = Roc.of(np.array([0.0, 1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0, 5.0]))
    assert curve.points == (
        (0.0, 0.0),
        (0.0, 0.25),
        (0.0, 0.5),
        (0.25, 0.75),
        (0.5, 1.0),
        (0.75, 1.0),
        (1.0, 1.0),
    )
    assert curve.at(0.0) == 0.5 and curve.at(0.25) == 0.75 and curve.at(1.0) == 1.0
    assert curve.at(0.125) == pytest.approx(0.625), "by chance at the next threshold, so that the rate is met"
    same = Roc.of(np.zeros(10), np.zeros(10))
    assert same.at(0.05) == pytest.approx(0.05) and same.thinned() == [[0.0, 0.0], [1.0, 1.0]]
