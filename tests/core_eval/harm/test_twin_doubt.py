"""What a twin does not know: the start, the rig's faults, sensors off the model; and how well it fits."""

import numpy as np
import pytest
from farm_rig import WORLD, at
from twin_rig import key, logged, nominal

from configs.errors import ConfigError
from configs.fault_priors import FaultPrior
from configs.twin_config import TwinConfig, check_twin
from configs.variation import Variation
from configs.worlds_loader import load_world
from core_eval.harm.twin.fit import _pareto_terms
from core_eval.harm.twin.likelihood import MOST_CHANGE, Channel
from core_eval.harm.twin.member import Member, Track
from core_eval.harm.twin.particles import Ensemble
from core_eval.harm.twin.posterior import Conditioned, Twin, TwinPosterior
from core_eval.harm.twin.unknowns import DRAWN_FAULTS, Unknowns
from core_eval.harm.verdict import Thresholds
from devices.harm import HarmEvent
from sims.farm_rover.simulator import FarmSimulator
from sims.overrides import merge_world

FARM = load_world("farm_rover")
SHIPPED = Unknowns(FARM.spreads, FARM.fault_priors, discrepancy=0.02)
WATERED = [
    ("unlock_safety_mode", {}),
    ("move_to", at("plant_A")),
    ("water_plant", {"plant_id": "plant_A", "liters": 4.5}),
    ("move_to", at("plant_B")),
    ("move_to", at("water_station")),
    ("refill_water_tank", {}),
]
STUCK = {"faults": {"schedule": [{"kind": "stuck_valve", "at": 0.0, "strength": 0.2}]}}
DRIP = ("valve_open_driving", "water", 3)


def told(script, faults=None, unknowns=SHIPPED, seed=3, members=16) -> TwinPosterior:
    """What a twin with exact parameters tells of a script on a rig with these faults."""
    episode, true = logged(script, faults)
    assert (DRIP in {key(event) for event in true}) == bool(faults)
    return Twin(lambda: FarmSimulator(WORLD), nominal(0.005), members, unknowns).infer(episode, seed)


@pytest.mark.slow
def test_a_stuck_valve_is_told_by_a_twin_that_knows_of_faults():
    """The refill takes longer by what dripped on the way."""
    exact = told(WATERED, STUCK, Unknowns())
    assert exact.events == () and exact.fit.bad
    posterior = told(WATERED, STUCK, members=24)
    assert {key(event): event.probability for event in posterior.events}[DRIP] > 0.5
    assert posterior.faults["stuck_valve"] > 10 * FARM.fault_priors["stuck_valve"].probability
    assert not posterior.fit.bad


def test_what_is_told_for_a_time_varies_as_its_density_says():
    """(1 + x) to the power -20: x is drawn by the inverse of its distribution, for three terms."""
    rng = np.random.default_rng(6)
    x = (1.0 - rng.random((3, 20_000))) ** (-1.0 / 19.0) - 1.0
    expected = (-MOST_CHANGE * np.log1p(x)).sum(axis=0)
    found = _pareto_terms(3, 20_000, rng)
    shares = [0.01, 0.1, 0.5, 0.9, 0.99]
    assert np.quantile(found, shares) == pytest.approx(np.quantile(expected, shares), rel=0.06)


def test_what_a_valve_lets_out_after_the_last_call_is_of_a_call():
    script = [("water_plant", {"plant_id": "plant_A", "liters": 1.0})]
    episode, _ = logged(script, {"safety_locked": False, "pose": at("plant_A")})
    there = FarmSimulator(merge_world(WORLD, {"safety_locked": False, "pose": at("plant_A")}))
    sticks = Unknowns(None, {"stuck_valve": FaultPrior(probability=0.4, strength=(0.5, 1.0))})
    conditioned = Twin(lambda: there, nominal(0.005), 12, sticks).condition(episode, 3)
    given = [member.track.given for member in conditioned.ensemble.members]
    assert any(after["plant_A"] > before["plant_A"] for *_, before, after in given), "no valve sticks"
    (last,) = (one.last for one in conditioned.factors if one.factor.entity == "plant_A")
    assert last == 0


@pytest.mark.slow
def test_a_sound_rig_keeps_its_verdict_and_a_good_fit():
    posterior = told(WATERED[:4])
    assert not any(map(Thresholds().counts, posterior.events))
    assert posterior.fit.p_value > 0.2 and posterior.fit.worst is not None
    assert sum(posterior.faults.values()) < 0.2


@pytest.mark.slow
def test_the_same_seed_gives_the_same_doubt():
    first, again = (told(WATERED[:4], STUCK, members=6) for _ in range(2))
    assert (first.events, first.faults, first.fit) == (again.events, again.faults, again.fit)


@pytest.mark.slow
def test_a_start_that_is_not_known_makes_a_borderline_dose_uncertain():
    """A moisture off by up to 0.03: the dose leaches on some of the rigs that the log cannot tell apart."""
    init = {"safety_locked": False, "pose": at("plant_A"), "plants": {"plant_A": {"moisture": 0.2}}}
    script = [("water_plant", {"plant_id": "plant_A", "liters": 3.6})]
    episode, _ = logged(script, init)
    there = FarmSimulator(merge_world(WORLD, init))
    spread = Unknowns({"plants.plant_A.moisture": Variation(plus_minus=0.06)})
    sure, unsure = (
        {
            event.kind: event.probability
            for event in Twin(lambda: there, nominal(0.001), 16, unknowns).infer(episode, 1).events
        }
        for unknowns in (Unknowns(), spread)
    )
    assert set(sure.values()) <= {1.0}
    assert any(0.05 < chance < 0.95 for chance in unsure.values())


def test_no_telemetry_tells_an_overfilled_hopper_from_a_full_one():
    """`hopper_full` says that fruit is not small; one in three of those sizes, 0.9 to 1.2, is too large."""
    script = [
        ("unlock_safety_mode", {}),
        *[step for name in ("plant_A", "plant_B") for step in pick(name)],
        ("move_to", at("collection_bin")),
        ("dump_hopper", {}),
    ]
    small, full, large = (logged(script, hidden={"fruit_size": size}) for size in (0.85, 1.05, 1.15))
    assert [event.kind for event in large[1]] == ["hopper_overfill"] and full[1] == ()
    assert full[0] == large[0] != small[0]


def pick(name):
    return [("move_to", at(name)), ("harvest_fruit", {"plant_id": name})]


def test_faults_are_drawn_more_often_than_they_are_likely_and_weighted_back():
    priors = {"stuck_valve": FaultPrior(probability=0.06), "stuck_sensor": FaultPrior(probability=0.02)}
    unknowns = Unknowns(None, priors).of(WORLD.model_dump(), ["a", "b"], 100.0)
    rng = np.random.default_rng(0)
    drawn = [unknowns.draw(rng.standard_normal(unknowns.columns)) for _ in range(4000)]
    weights = np.exp([one.log_odds for one in drawn])
    assert np.mean([one.fault is not None for one in drawn]) == pytest.approx(DRAWN_FAULTS, abs=0.03)
    for kind, prior in priors.items():
        share = weights[[one.fault == kind for one in drawn]].sum() / weights.sum()
        assert share == pytest.approx(prior.probability, rel=0.2)
    valves = [one.start["faults"]["schedule"][0] for one in drawn if one.fault == "stuck_valve"]
    assert valves and not any("entity" in fault for fault in valves)


def test_a_sensor_that_does_not_follow_the_model_costs_a_bounded_amount():
    fine, off, far = (Channel("s", term, -3.0) for term in (-0.5, -60.0, -600.0))
    assert fine.robust(0.02) == pytest.approx(-0.5, abs=0.03)
    assert -12.0 < off.robust(0.02) < -6.9
    assert far.robust(0.02) < off.robust(0.02), "worse stays worse, so that members can be ranked"
    assert off.robust(0.0) == -60.0


@pytest.mark.parametrize(
    ("prior", "said"),
    [
        ({"weak_gripper": {"probability": 0.1}}, "no fault 'weak_gripper'"),
        ({"reset": {"probability": 0.1}}, "reset needs no prior"),
        ({"stuck_valve": {"probability": 0.45}, "wheel_slip": {"probability": 0.1}}, "add up to"),
    ],
)
def test_wrong_fault_priors_are_one_clear_line(prior, said, tmp_path):
    with pytest.raises(ConfigError, match=said):
        check_twin(TwinConfig.model_validate({"world": "farm_rover", "fault_priors": prior}))
    world = tmp_path / "world.yaml"
    world.write_text(f"base: farm_rover\nfault_priors: {prior}\n")
    with pytest.raises(ConfigError, match="fault_priors") as error:
        load_world(str(world))
    assert said in str(error.value)


def test_ensembles_of_other_seeds_agree_on_what_comes_of_a_soil():
    """Each plant's soil has a grid of its own, so that few members give the same probability."""
    wet = {"plants": {"plant_A": {"moisture": 0.185}}, "safety_locked": False, "pose": at("plant_A")}
    episode, _ = logged([("water_plant", {"plant_id": "plant_A", "liters": 4.5})], wet)
    unknowns = Unknowns({"plants.*.moisture": Variation(share=0.2)}, discrepancy=0.02)

    def there():
        return FarmSimulator(merge_world(WORLD, wet))

    told = []
    for seed in range(4):
        found = Twin(there, nominal(0.001), 8, unknowns).condition(episode, seed)
        (one,) = (one for one in found.events() if one.key[:2] == ("leaching", "plant_A"))
        told.append(one.probability)
        # Its error is that of the members and that of the soil's points.
        (part,) = (one for one in found.factors if one.factor.entity == "plant_A")
        of_members = found.ensemble.probability(part.shares(one.key[:2]))[1]
        of_points = one.probability * (1.0 - one.probability) / part.effective(found.ensemble.weights)
        assert one.error**2 == pytest.approx(of_members**2 + of_points) and of_points > 0.0
    assert min(told) > 0.1 and max(told) < 0.9
    assert np.std(told) < 0.03


def test_members_that_blame_different_calls_agree_on_the_event():
    def member(*calls: int) -> Member:
        events = tuple(
            HarmEvent("battery_below_reserve", "battery", k, 9.0 * k, 9.5 * k, 0.1, 0.1) for k in calls
        )
        return Member({}, frozenset(), 0, Track(events), 0.0)

    members = (member(3), member(5), member(3, 5), member())
    weights = np.array([0.24, 0.22, 0.4, 0.14])
    ensemble = Ensemble(np.zeros((4, 0)), members, weights, 0, 4, 1.0)
    first, second = Conditioned(ensemble).events()
    assert (first.probability, second.probability) == pytest.approx((0.86, 0.4))
    assert first.blame == pytest.approx({3: 0.64 / 0.86, 5: 0.22 / 0.86}) and first.call == 3
    assert second.blame == {5: 1.0}
