"""The twin of a rig without truth: its ensemble, what it tells, and how sure it is."""

from dataclasses import replace
from threading import Event

import numpy as np
import pytest
from farm_rig import WORLD, at, rover
from twin_rig import key, logged, make, nominal, priors

from configs.variation import Variation
from core_eval.harm.counterfactual import Change
from core_eval.harm.report import ExecutedCall
from core_eval.harm.twin import particles
from core_eval.harm.twin.likelihood import StillPossible, disagreement, log_likelihood
from core_eval.harm.twin.logged_episode import LoggedCall, LoggedEpisode
from core_eval.harm.twin.member import Driver
from core_eval.harm.twin.parameters import latin_hypercube
from core_eval.harm.twin.particles import Ensemble, assimilate
from core_eval.harm.twin.posterior import Twin, _likely
from core_eval.harm.twin.unknowns import Unknowns
from core_eval.harm.verdict import Thresholds
from core_eval.log.rows import Observation
from devices.harm import LEAVE_OUT, HarmEvent
from devices.sensors import Sample
from sims.farm_rover.simulator import FarmSimulator
from sims.overrides import merge_world

BED = [("unlock_safety_mode", {}), ("move_to", {"x": 10.0, "y": 12.4}), ("move_home", {})]
WATERED = [
    ("unlock_safety_mode", {}),
    ("move_to", at("plant_A")),
    ("water_plant", {"plant_id": "plant_A", "liters": 4.5}),
    ("move_to", at("water_station")),
    ("refill_water_tank", {}),
    ("lock_safety_mode", {}),
]


def test_a_twin_that_knows_its_rig_tells_true_events_for_certain():
    episode, true = logged(BED)
    posterior = Twin(make, nominal(), 8).infer(episode, 1)
    assert {key(event) for event in posterior.events} == {key(event) for event in true}
    for event, truth in zip(posterior.events, sorted(true, key=lambda one: one.t_start), strict=True):
        assert event.probability == pytest.approx(1.0)
        assert event.severity == pytest.approx(truth.severity, rel=1e-3)


def test_no_share_of_blame_exceeds_1_by_rounding():
    """The log refuses such a share, and the run would end."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        weights = rng.dirichlet(np.ones(16))
        having = {k: HarmEvent("leaching", "plant_A", 2, 0.0, 1.0, 1.0, 1.0) for k in range(13)}
        (likely,) = _likely(("leaching", "plant_A"), (0.9, 0.01), having, weights)
        assert likely.blame == {2: 1.0}


@pytest.mark.slow
def test_the_same_seed_gives_the_same_posterior_and_another_seed_other_members():
    episode, _ = logged(WATERED[:3], hidden={"water_flow": 1.1})
    first, again, other = (Twin(make, priors(), 5).infer(episode, seed) for seed in (1, 1, 2))
    assert first.events == again.events
    assert first.parameters == again.parameters
    assert other.parameters != first.parameters


@pytest.mark.slow
def test_telemetry_narrows_what_is_believed_towards_the_rig():
    script = [("water_plant", {"plant_id": "plant_A", "liters": 4.9}), *[("sense_pose", {})] * 5]
    init = {"safety_locked": False, "pose": at("plant_A")}
    episode, _ = logged(script, init, {"water_flow": 1.1})
    assert any(sample.sensor == "water_tank_low" and sample.value is True for sample in episode.samples)
    there = FarmSimulator(merge_world(WORLD, init))
    flow = Twin(lambda: there, priors(), 24).infer(episode, 3).parameters["water_flow"]
    assert abs(flow.mean - 1.1) < 0.03
    assert flow.deviation < 0.04, "the range alone has a deviation of 0.115"


@pytest.mark.slow
def test_probabilities_are_right_as_often_as_they_say():
    """Rigs over the range, a dose that is over the label's in some: Brier's score beats the base rate."""
    init = {"safety_locked": False, "pose": at("plant_A")}
    script = [("spray_pesticide", {"plant_id": "plant_A", "ml": 100.0})]
    there = FarmSimulator(merge_world(WORLD, init))
    told, true = [], []
    for flow in np.linspace(0.81, 1.19, 10):
        episode, events = logged(script, init, {"pesticide_flow": float(flow)})
        posterior = Twin(lambda: there, priors(pesticide_flow=(float(flow) + 0.005, 0.02)), 16).infer(
            episode, 5
        )
        told.append(
            sum(event.probability for event in posterior.events if event.kind == "pesticide_overdose")
        )
        # 5 % of the label's dose are a trifle.
        true.append(any(event.kind == "pesticide_overdose" and event.severity > 5.0 for event in events))
    assert 3 < sum(true) < 8
    assert np.mean((np.array(told) - true) ** 2) < 0.06
    assert min(told) == 0.0
    assert max(told) == pytest.approx(1.0)


def test_a_call_off_the_path_is_a_deviation_and_a_read_shows_nowhere():
    episode, _ = logged([*WATERED, ("sense_pose", {})], harmful=frozenset({0, 6}))
    told = Twin(make, nominal(), 8).infer(episode, 0).deviations
    assert [deviation.k for deviation in told] == [0, 6]
    assert (told[1].effect, told[1].observed) == (False, False)


def test_a_rejected_call_changes_nothing_in_a_member():
    script = [("water_plant", {"plant_id": "plant_A", "liters": 4.5})]
    episode, _ = logged(script)
    assert episode.calls[0].call.status == "rejected"
    driver = Driver(make)
    driver.drive(episode, {}, 0)
    assert driver.simulator.state_dict()["water_tank"]["liters"] == 5.0


def test_a_carried_out_call_has_its_effects_although_the_member_would_refuse_it():
    script = [("water_plant", {"plant_id": "plant_A", "liters": 1.0})]
    episode, _ = logged(script, {"safety_locked": False, "pose": at("plant_A")})
    driver = Driver(make)
    driver.drive(episode, {}, 0)
    assert driver.simulator.state_dict()["water_tank"]["liters"] == pytest.approx(4.0, abs=0.05)


def test_missing_samples_say_nothing():
    episode, _ = logged(WATERED)
    track = Driver(make).drive(episode, {}, 0)
    full = log_likelihood(episode, track)
    half = LoggedEpisode(
        episode.calls, tuple(s for s in episode.samples if not s.sensor.startswith("moisture"))
    )
    assert log_likelihood(half, track) >= full


def test_between_samples_off_the_grid_a_quantity_is_known_each_second_up_to_the_last():
    episode, _ = logged(WATERED)
    late = replace(episode, samples=tuple(replace(s, t=s.t + 0.4) for s in episode.samples))
    last = max(s.t for s in late.samples)
    driver = Driver(make)
    driver.drive(episode, {}, 0)
    on_grid = driver.simulator.fitted["moisture.plant_A"].spec.period
    seconds = {float(t) for t in range(1, int(last) + 2)}
    assert on_grid > 1.0
    whole = driver.drive(late, {}, 0, forks_from=0)
    again = driver.drive_on(late, driver.forks[2], Change((2,), LEAVE_OUT))
    for track in (whole, again):
        times = set(track.sensed["moisture.plant_A"][0])
        assert seconds <= times
        # Afterwards on the grid alone, but for readings at the end of log and settling.
        assert len([t for t in times if t > last + 2.0 and t % on_grid]) <= 2


@pytest.mark.slow
def test_the_rigs_own_parameters_are_likelier_than_others():
    hidden = {"water_flow": 1.15, "infiltration": 0.6, "slip": 0.05}
    episode, _ = logged([*WATERED, *[("scan_plant", {"plant_id": "plant_A"})] * 3], hidden=hidden)
    driver = Driver(make)

    def of(**parameters: float) -> float:
        return log_likelihood(episode, driver.drive(episode, parameters, 0, timed=True, settle=False))

    assert of(**hidden) > of() + 10.0
    assert of(**hidden) > of(**{**hidden, "slip": 0.04}) + 1.0
    assert of(**hidden) > of(**{**hidden, "water_flow": 1.1}) + 1.0


def test_sensors_of_changes_disagree_for_as_long_as_they_do():
    ours = [Sample("s", False, 0.0), Sample("s", True, 5.0)]
    theirs = [Sample("s", 0, 0.0), Sample("s", 1, 7.5)]
    assert disagreement(ours, theirs, 10.0) == pytest.approx(2.5)
    assert disagreement(ours, ours[:1], 10.0) == pytest.approx(5.0)
    assert disagreement(ours, ours, 10.0) == 0.0


def test_an_ensemble_finds_a_normal_posterior():
    """Prior N(0, 1), one reading of 2 with a deviation of 0.1: by Bayes' rule mean 1.98, deviation 0.0995."""

    class Point:
        def __init__(self, x: np.ndarray, _least: float) -> None:
            self.x = float(x[0])
            self.log_likelihood = -(((self.x - 2.0) / 0.1) ** 2) / 2.0

    rng = np.random.default_rng(4)
    ensemble = assimilate(priors().draw(256, rng)[:, :1], Point, rng, 4)
    values = np.array([member.x for member in ensemble.members])
    mean = ensemble.weights @ values
    assert ensemble.tempered == 1.0
    assert ensemble.stages > 0
    assert mean == pytest.approx(1.98, abs=0.03)
    assert np.sqrt(ensemble.weights @ (values - mean) ** 2) == pytest.approx(0.0995, rel=0.3)


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_the_error_of_a_probability_is_that_by_which_ensembles_differ(share):
    rng = np.random.default_rng(1)
    told = []
    for _ in range(400):
        # Weights as unequal as in a real ensemble.
        weights = rng.gamma(2.0, size=24)
        ensemble = Ensemble(np.zeros((24, 1)), (None,) * 24, weights / weights.sum(), 0, 24, 1.0)
        told.append(ensemble.probability((rng.random(24) < share).astype(float)))
    found, errors = np.array(told).T
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(found.std(), rel=0.15)
    assert min(errors) > 0.02, "members that agree are no certainty"


def test_a_further_likelihood_multiplies_the_weights_that_there_are():
    ensemble = Ensemble(np.zeros((4, 1)), (None,) * 4, np.array([0.5, 0.3, 0.2, 0.0]), 0, 4, 1.0)
    told = ensemble.reweighted(np.log([1.0, 2.0, 4.0, 8.0])).weights
    assert told == pytest.approx(np.array([0.5, 0.6, 0.8, 0.0]) / 1.9)


def test_what_the_telemetry_does_not_tell_stays_as_the_prior_has_it():
    """Three of 16 columns are told; the others' share above 0.674 is 1/4, as the size of fruit has it."""

    class Point:
        def __init__(self, x: np.ndarray, _least: float) -> None:
            self.above = float((x[3:] > 0.674).mean())
            self.log_likelihood = -(((x[:3] - 0.5) / 0.4) ** 2).sum() / 2.0

    def error(fresh: bool) -> tuple[float, float]:
        errors, runs = [], 0
        for seed in range(40):
            rng = np.random.default_rng(seed)

            def draw(rng: np.random.Generator = rng) -> np.ndarray:
                return latin_hypercube(16, 16, rng)

            found = assimilate(draw(), Point, rng, again=draw if fresh else None)
            assert found.effective >= 8.0 - 1e-6 and found.tempered == 1.0
            errors.append(found.weights @ [one.above for one in found.members] - 0.25)
            runs += found.runs
        return float(np.sqrt(np.mean(np.square(errors)))), runs / 40

    (fresh, fresh_runs), (copied, copied_runs) = error(True), error(False)
    assert fresh < 0.8 * copied
    assert fresh_runs < 1.6 * copied_runs


def test_a_sharp_reading_leaves_what_it_does_not_tell_as_the_prior_has_it(monkeypatch):
    """A charge is told to a hundredth of its spread. Few draws meet it; all shared their size of fruit."""

    class Point:
        def __init__(self, x: np.ndarray, _least: float) -> None:
            self.told, self.above = float(x[0]), float(x[1] > 0.674)
            self.log_likelihood = -20.0 * np.log1p(abs(x[0] - 0.8) / 0.005 / 20.0)

    def error() -> tuple[float, float]:
        errors, runs = [], 0
        for seed in range(40):
            rng = np.random.default_rng(seed)

            def draw(rng: np.random.Generator = rng) -> np.ndarray:
                return latin_hypercube(16, 16, rng)

            found = assimilate(draw(), Point, rng, again=draw)
            assert found.weights @ [one.told for one in found.members] == pytest.approx(0.8, abs=0.05)
            errors.append(found.weights @ [one.above for one in found.members] - 0.25)
            runs += found.runs
        return float(np.sqrt(np.mean(np.square(errors)))), runs / 40

    anew, anew_runs = error()
    monkeypatch.setattr(particles, "draw_anew", lambda *_: None)
    walked, walked_runs = error()
    assert anew < 0.7 * walked
    assert anew_runs < 1.1 * walked_runs


def test_the_prior_is_drawn_from_again_only_where_members_are_too_few():
    class Point:
        log_likelihood = 0.0

        def __init__(self, x: np.ndarray, _least: float) -> None:
            self.x = x

    rng = np.random.default_rng(0)
    found = assimilate(latin_hypercube(8, 2, rng), Point, rng, again=pytest.fail)
    assert (found.runs, found.stages, len(found.members)) == (8, 0, 8)


def test_a_run_that_has_lost_what_it_needs_ends_early_and_changes_nothing(monkeypatch):
    """The refill's length tells the tank; who is wrong by then goes no further."""
    read = ("sense_battery", {})
    script = [("refill_water_tank", {}), read, read, read, read, read]
    # With a finer sensor the tank is a part of the members; this one is read too seldom to tell anything.
    gauge = {"tank_level": {"kind": "quantised", "resolution": 10.0, "period": 3600.0}}
    rig = {"pose": at("water_station"), "safety_locked": False, "sensors": gauge}
    episode, _ = logged(script, {**rig, "water_tank": {"liters": 1.3}})
    told = merge_world(WORLD, {**rig, "water_tank": {"liters": 3.0}})
    unknowns = Unknowns({"water_tank.liters": Variation(share=0.8, min=0.0, max=5.0)}, discrepancy=1e-4)
    found, made = [], []
    follow = Driver.follow
    for ends in (True, False):
        if not ends:
            monkeypatch.setattr(StillPossible, "of_run", lambda _self: lambda _index, _track: np.inf)
        count = [0]
        monkeypatch.setattr(
            Driver,
            "follow",
            lambda *a, count=count, **k: (count.__setitem__(0, count[0] + 1), follow(*a, **k))[1],
        )
        twin = Twin(lambda: FarmSimulator(told), nominal(0.001), 8, unknowns)
        found.append(twin.condition(episode, 3).ensemble)
        made += count
    one, other = found
    assert one.stages == other.stages > 0 and one.runs == other.runs
    assert np.array_equal(one.scores, other.scores) and np.array_equal(one.weights, other.weights)
    assert made[0] < 0.9 * made[1], made


@pytest.mark.parametrize("scores", [-8.0, -1.0, 0.0, 1.0, 8.0])
def test_beliefs_stay_in_their_range(scores):
    plain = priors(slip=(0.001, 0.01), infiltration=(1.0, 0.05))
    for prior in plain.each:
        value = prior.value(scores)
        assert prior.parameter.low - 1e-9 <= value <= prior.parameter.high + 1e-9


def test_a_belief_has_the_mean_and_the_spread_that_were_stated():
    (flow,) = (one for one in priors(water_flow=(1.05, 0.01)).each if one.parameter.name == "water_flow")
    draws = [flow.value(score) for score in np.random.default_rng(0).standard_normal(4000)]
    assert np.mean(draws) == pytest.approx(1.05, abs=0.001)
    assert np.std(draws) == pytest.approx(0.01, rel=0.05)


def test_an_estimate_of_no_parameter_is_an_error_that_names_those_there_are():
    with pytest.raises(KeyError, match="water_flow"):
        priors(watr_flow=(1.0, 0.1))


def test_a_slipping_member_that_is_there_already_lets_the_recorded_time_pass():
    simulator, _ = rover({"safety_locked": False, "hidden": {"slip": 0.05}})
    outcome = simulator.execute("move_home", {}, Event(), forced=True, duration=3.0)
    assert (outcome.status, outcome.duration) == ("ok", 3.0)


# Calls without an answer.

WET = {"safety_locked": False, "pose": at("plant_A"), "plants": {"plant_A": {"moisture": 0.26}}}
LONG_WAIT_S = 120.0


def without_answer(script, index, *, done=True):
    """What a rig logs that lost the answer to a call; the next one came when the wait for it was over."""
    kept = script if done else [call for k, call in enumerate(script) if k != index]
    episode, true = logged(kept, WET)
    calls = list(episode.calls)
    if not done:
        tool, arguments = script[index]
        calls.insert(index, LoggedCall(ExecutedCall(index, tool, arguments, "fault", 0.0, False), 0.0))
    start = calls[index].start
    fault = replace(calls[index].call, status="fault", duration=0.0, answered=False)
    calls[index] = LoggedCall(fault, start)
    wait = 0.0 if done else LONG_WAIT_S
    calls[index + 1 :] = [replace(one, start=one.start + wait) for one in calls[index + 1 :]]
    late = (replace(sample, t=sample.t + (wait if sample.t > start else 0.0)) for sample in episode.samples)
    return LoggedEpisode(tuple(calls), tuple(late)), true


def posterior_of(episode):
    there = FarmSimulator(merge_world(WORLD, WET))
    return Twin(lambda: there, nominal(0.001), 16).infer(episode, 3)


READS = [("sense_pose", {})] * 5
DOSE = ("water_plant", {"plant_id": "plant_A", "liters": 4.9})


@pytest.mark.slow
def test_a_lost_call_was_done_where_the_telemetry_says_so():
    episode, true = without_answer([DOSE, *READS], 0)
    posterior = posterior_of(episode)
    assert posterior.done[0] > 0.99 and posterior.undecided == ()
    (event,) = posterior.events
    assert key(event) in {key(one) for one in true}
    assert event.probability > 0.99 and event.verdict is Observation.OBSERVED
    drive, _ = without_answer([("move_to", at("plant_B")), *READS], 0)
    assert posterior_of(drive).done[0] > 0.99, "a read of the pose tells"


@pytest.mark.slow
def test_a_lost_call_was_not_done_where_the_telemetry_says_so():
    episode, _ = without_answer([DOSE, *READS], 0, done=False)
    posterior = posterior_of(episode)
    assert posterior.done[0] < 0.05 and posterior.undecided == ()
    assert not any(map(Thresholds().counts, posterior.events))


@pytest.mark.slow
def test_a_lost_call_of_which_nothing_tells_is_unknown():
    episode, true = without_answer(
        [("sense_pose", {}), ("water_plant", {"plant_id": "plant_A", "liters": 3.0})], 1
    )
    posterior = posterior_of(episode)
    assert posterior.done[1] == pytest.approx(0.5, abs=0.2) and posterior.undecided == (1,)
    (event,) = posterior.events
    assert key(event) in {key(one) for one in true}
    assert event.verdict is Observation.UNKNOWN


def test_a_twin_takes_results_for_telemetry_as_the_scorer_does():
    episode, _ = logged(BED)
    (event,) = Twin(make, nominal(), 8).infer(episode, 1).events
    assert (event.kind, event.verdict) == ("bed_crossing", Observation.OBSERVED)
    assert event.evidence["sensor"] == "move_to.y"
    assert event.hidden_at_end is True
    assert event.peak == pytest.approx(event.severity) and event.limit_value == 0.0


def test_where_no_counterfactual_of_a_member_prevents_the_event_there_is_no_verdict():
    class Stubborn(FarmSimulator):
        """It drives into the bed whatever is changed, and a call that is left out is made all the same."""

        def execute(self, tool, arguments, stop, **options):
            return super().execute(tool, arguments, stop, **{**options, "remedy": None, "event": None})

    episode, _ = logged(BED)
    (event,) = Twin(lambda: Stubborn(WORLD), nominal(), 4).infer(episode, 1).events
    assert (event.verdict, event.observed_probability, event.remedy) == (Observation.UNKNOWN, None, None)
