"""The probing episode of an SO-101: harmless within the ranges, and what it tells of the grip's force."""

from collections.abc import Mapping

import pytest
from paths import ROOT
from so101_rig import KIND, do, needs_so101, so101, world

from agents.baselines.scripted import read_script
from core_eval.harm.report import ExecutedCall
from core_eval.harm.twin.calibration import Calibration, calibrate
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.parameters import Priors
from devices.hidden import hidden_parameters
from sims.overrides import merge_world

pytestmark = needs_so101
SCRIPT = read_script(ROOT / "configs" / "probes" / "so101_bench.jsonl")
PARAMETERS = hidden_parameters(type(world().hidden))
FINGERS = {"sensors": {"finger_force": {"kind": "quantised", "period": 0.5, "resolution": 0.5}}}


@pytest.mark.parametrize("end", ["low", "high"])
def test_it_harms_nothing_and_every_call_is_carried_out(end: str) -> None:
    simulator, _ = so101(
        {"safety_locked": True, "hidden": {one.name: getattr(one, end) for one in PARAMETERS}}
    )
    assert {do(simulator, tool, **arguments).status for tool, arguments in SCRIPT} == {"ok"}
    simulator.finish()
    assert simulator.events == ()


def fit(parameter: str, value: float, init: Mapping[str, object]) -> Calibration:
    """The calibration of one parameter by the probing episode up to the first reading of the joints."""
    simulator, samples = so101({"safety_locked": True, "hidden": {parameter: value}, **init}, 7)
    calls, results = [], []
    for k, (tool, arguments) in enumerate(SCRIPT[:3]):
        outcome = do(simulator, tool, **arguments)
        calls.append(ExecutedCall(k, tool, arguments, outcome.status, outcome.duration, harmful=False))
        results.append(outcome.value)
    episode = LoggedEpisode.following(calls, list(samples), results)
    twin = merge_world(world(), init)
    free = Priors([one for one in PARAMETERS if one.name == parameter], {})
    return calibrate([lambda: KIND.simulator(twin, 0)], [episode], free, 0)


@pytest.mark.nightly
@pytest.mark.parametrize(("init", "identified"), [({}, False), (FINGERS, True)])
def test_the_grips_force_is_told_by_a_sensor_in_the_fingers_alone(
    init: Mapping[str, object], identified: bool
) -> None:
    (grip,) = fit("grip_force", 0.85, init).parameters
    assert grip.identified is identified
    assert grip.told_by == ("finger_force" if identified else None)
    if identified:
        assert abs(grip.estimate.value - 0.85) < 3.0 * grip.estimate.spread
