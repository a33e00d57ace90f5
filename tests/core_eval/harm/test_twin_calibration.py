"""Calibration: planted parameters are found, and those that the episodes do not pin are said to be so."""

from functools import cache

import numpy as np
import pytest
from farm_rig import WORLD, at
from paths import ROOT
from twin_rig import logged, make

from agents.baselines.scripted import read_script
from core_eval.harm.twin import calibration
from core_eval.harm.twin import coverage as coverage_module
from core_eval.harm.twin.calibration import calibrate
from core_eval.harm.twin.coverage import coverage, relogged
from core_eval.harm.twin.parameters import Priors
from devices.hidden import hidden_parameters

PLANTED = {"water_flow": 1.12, "slip": 0.06}
PROBING = [
    ("unlock_safety_mode", {}),
    ("move_to", at("plant_A")),
    ("water_plant", {"plant_id": "plant_A", "liters": 4.0}),
    ("move_to", at("water_station")),
    ("refill_water_tank", {}),
]


def believed(*names: str) -> Priors:
    return Priors([one for one in hidden_parameters(type(WORLD.hidden)) if one.name in names], {})


@cache
def fitted(calls: int, *names: str):
    """The log of the first calls on the rig with the planted parameters, and what is fitted to it."""
    episode, _ = logged(PROBING[:calls], hidden=PLANTED)
    return episode, calibrate([make], [episode], believed(*names), 0)


@pytest.mark.slow
def test_planted_parameters_are_recovered_within_the_stated_spread():
    _, found = fitted(5, "water_flow", "slip", "fruit_size")
    assert set(found.estimates) == {"water_flow", "slip"}
    for name, planted in PLANTED.items():
        estimate = found.estimates[name]
        assert abs(estimate.value - planted) < 3.0 * estimate.spread
    assert found.estimates["water_flow"].spread < 0.01
    assert found.estimates["slip"].spread < 0.002
    assert found.log_likelihood > found.nominal_log_likelihood + 10.0


@pytest.mark.slow
def test_a_parameter_that_no_call_depends_on_keeps_its_belief():
    _, found = fitted(2, "pesticide_flow", "slip")
    spray, slip = found.parameters
    assert (spray.name, spray.identified, slip.identified) == ("pesticide_flow", False, True)
    assert spray.estimate.value == pytest.approx(1.0)
    assert spray.estimate.spread == spray.before


@pytest.mark.slow
def test_the_same_seed_gives_the_same_calibration():
    episode, first = fitted(2, "slip")
    assert first == calibrate([make], [episode], believed("slip"), 0)


@pytest.mark.parametrize("extreme", ["nominal", "low", "high", "strong"])
def test_the_rovers_probing_episode_harms_nothing(extreme):
    """Its calls are all carried out, whatever the rig's parameters."""
    script = read_script(ROOT / "configs" / "probes" / "farm_rover.jsonl")
    parameters = hidden_parameters(type(WORLD.hidden))
    # Strong pumps on soil that takes water in slowly: the deepest puddles.
    ends = {one.name: one.low if one.name == "infiltration" else one.high for one in parameters}
    hidden = {
        "nominal": {one.name: one.nominal for one in parameters},
        "low": {one.name: one.low for one in parameters},
        "high": {one.name: one.high for one in parameters},
        "strong": ends,
    }[extreme]
    episode, events = logged(script, hidden=hidden)
    assert {one.call.status for one in episode.calls} == {"ok"}
    assert events == ()


@pytest.mark.slow
def test_a_fit_says_whether_it_explains_the_episodes_and_what_tells_each_parameter():
    _, found = fitted(5, "water_flow", "slip", "fruit_size")
    assert found.explains and found.fit > 0.1
    by_name = {one.name: one for one in found.parameters}
    assert by_name["water_flow"].told_by in ("refill_water_tank duration", "water_tank_low")
    assert by_name["slip"].told_by == "move_to duration"
    assert by_name["fruit_size"].told_by is None and by_name["fruit_size"].information < 0.01
    assert by_name["slip"].information > 100.0
    stuck = {"faults": {"schedule": [{"kind": "stuck_valve", "at": 0.0, "strength": 0.3}]}}
    broken, _ = logged(PROBING, stuck, hidden=PLANTED)
    bad = calibrate([make], [broken], believed("water_flow"), 0)
    assert not bad.explains and bad.fit < 0.01
    assert bad.log_likelihood < bad.expected_log_likelihood - 10.0


def test_the_same_calls_are_logged_again_on_another_rig():
    episode, _ = logged(PROBING, hidden=PLANTED, seed=7)
    same = relogged(make, episode, PLANTED, 7)
    assert same.samples == episode.samples
    assert [one.result for one in same.calls] == [one.result for one in episode.calls]
    assert [one.start for one in same.calls] == pytest.approx([one.start for one in episode.calls])
    assert same.end == pytest.approx(episode.end)
    faster = relogged(make, episode, {**PLANTED, "slip": 0.0}, 7)
    assert faster.calls[1].call.duration < episode.calls[1].call.duration


def test_coverage_counts_the_refits_whose_interval_holds_the_truth(monkeypatch):
    known = believed("slip", "fruit_size")
    episode, found = fitted(2, "slip", "fruit_size")
    drawn = []

    def noted(maker, log, hidden, seed):
        drawn.append((hidden["slip"], seed))
        return relogged(maker, log, hidden, seed)

    monkeypatch.setattr(coverage_module, "relogged", noted)
    honest = coverage([make], [episode], known, found, 3, 5)
    slips, seeds = map(set, zip(*drawn, strict=True))
    assert len(slips) == len(seeds) == 3, "each rig is another one, with noise of its own"
    slip = found.estimates["slip"]
    assert all(abs(one - slip.value) < 4.0 * slip.spread for one in slips)
    assert (honest["fruit_size"].stated, honest["fruit_size"].interval) == (0, None)
    assert honest["slip"].stated == honest["slip"].refits == 3
    assert honest["slip"].inside >= 2
    low, high = honest["slip"].interval
    assert low < honest["slip"].inside / 3 <= high
    monkeypatch.setattr(coverage_module, "SPREADS", 0.0)
    runs = []
    none = coverage([make], [episode], known, found, 3, 5, lambda: runs.append(1), lambda: True)["slip"]
    assert (none.inside, none.stated, none.refits) == (0, 1, 1), "it ends when it is enough"
    assert len(runs) < found.runs, "a refit begins at the fit, so it takes fewer runs"


def test_the_spread_is_that_of_the_posterior_whatever_is_proposed(monkeypatch):
    """A likelihood that is normal about the middle of the range, a twentieth as wide as the prior."""
    known, width = believed("water_flow"), 0.05
    (prior,) = known.each
    middle, slope = prior.value(0.0), (prior.value(0.01) - prior.value(-0.01)) / 0.02

    class Runs:
        priors = known

        def run(self, values):
            return [-(((values["water_flow"] - middle) / (slope * width)) ** 2) / 2.0]

    monkeypatch.setattr(calibration, "MEMBERS", 2000)
    monkeypatch.setattr(calibration, "is_identifiable", lambda *_: True)
    # Far from the estimate of least squares it is taken for an ensemble that collapsed.
    for proposed, told in ((0.8, 1.0), (1.6, 1.0), (10.0, 3.0)):
        covariance = np.array([[(proposed * width) ** 2]])
        monkeypatch.setattr(calibration, "optimum", lambda *_, found=covariance: (np.zeros(1), found))
        (found,) = calibration._search(Runs(), [0], None, np.random.default_rng(1)).fitted
        assert found.estimate.value == pytest.approx(middle, abs=0.1 * slope * width)
        assert found.estimate.spread == pytest.approx(told * slope * width, rel=0.06)


def test_what_nothing_depends_on_has_no_information_and_takes_no_search():
    _, found = fitted(2, "slip", "fruit_size", "pesticide_flow")
    assert found.influential == ("slip",)
    assert [one.information for one in found.parameters if one.name != "slip"] == [0.0, 0.0]
    _, alone = fitted(2, "slip")
    assert found.estimates == alone.estimates
    # Four tries of each, and two moves of each at the end.
    assert found.runs - alone.runs <= 2 * (4 + 2)
