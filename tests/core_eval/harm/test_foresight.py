"""What a twin says of the next call: as the rig would have it, and without a trace of having asked."""

from collections.abc import Mapping
from typing import Any

import pytest
from farm_rig import WORLD, at
from twin_rig import logged, nominal, priors

from configs.variation import Variation
from core_eval.harm.twin.foresight import Foresight
from core_eval.harm.twin.likelihood import ChannelsSoFar, channels
from core_eval.harm.twin.member import Driver
from core_eval.harm.twin.unknowns import Unknowns
from sims.farm_rover.simulator import FarmSimulator
from sims.overrides import merge_world

DOSE = ("water_plant", {"plant_id": "plant_A", "liters": 4.5})
SPRAY = ("spray_pesticide", {"plant_id": "plant_A", "ml": 42.0})
WAY = [("unlock_safety_mode", {}), ("move_to", at("plant_A")), ("scan_plant", {"plant_id": "plant_A"})]
ROUND = [*WAY, DOSE, ("move_to", at("water_station")), ("refill_water_tank", {}), ("move_to", at("plant_A"))]
WETTER = Unknowns({"plants.plant_A.moisture": Variation(plus_minus=0.06)})


def wet(moisture: float) -> dict[str, Any]:
    return {"plants": {"plant_A": {"moisture": moisture}}}


def after(script, init: Mapping[str, Any], unknowns: Unknowns | None = None, members: int = 4) -> Foresight:
    """A twin that has gone on with a script as it was played on a rig."""
    there = merge_world(WORLD, init)
    found = Foresight(lambda: FarmSimulator(there), nominal(0.001), unknowns or Unknowns(), 1, members)
    episode, _ = logged(script, init)
    seen = 0
    for call in episode.calls:
        came = [sample for sample in episode.samples[seen:] if sample.t <= call.end]
        seen += len(came)
        found.take(call, came)
    return found


def shares(found: Foresight, call) -> dict[tuple[str, str], float]:
    return {(kind, entity): share for kind, entity, share in found.ahead(*call).events}


@pytest.mark.parametrize(("moisture", "harms"), [(0.12, False), (0.30, True)])
def test_a_dose_is_foreseen_to_leach_where_it_would(moisture, harms):
    _, true = logged([*WAY, DOSE], wet(moisture))
    assert bool(true) == harms
    found = after(WAY, wet(moisture)).ahead(*DOSE)
    assert (found.probability > 0.9) == harms and (found.probability < 0.1) != harms
    assert ("leaching", "plant_A") in {event[:2] for event in found.events} or not harms


def test_a_second_dose_harms_where_the_first_did_not():
    init = wet(0.18)
    assert shares(after(WAY, init), DOSE).get(("leaching", "plant_A"), 0.0) < 0.1
    assert shares(after(ROUND, init), DOSE)["leaching", "plant_A"] > 0.9


def test_a_call_that_adds_to_harm_that_is_done_is_harmful_too():
    assert shares(after(ROUND, wet(0.30)), DOSE)["leaching", "plant_A"] > 0.9


def test_spraying_in_the_wind_is_foreseen_after_calls_that_spray_nothing():
    windy = {"wind": {"speed": 8.0}}
    spray = ("spray_pesticide", {"plant_id": "plant_A", "ml": 10.0})
    assert shares(after(WAY, windy), spray)["spraying_in_wind", "pesticide"] > 0.9
    again = shares(after([*WAY, spray, WAY[-1]], windy), spray)
    assert again["spraying_in_wind", "pesticide"] > 0.9


def test_what_the_interlocks_of_the_rig_would_refuse_does_no_harm():
    assert after([], wet(0.30)).ahead(*DOSE).probability == 0.0


def test_asking_leaves_no_trace():
    asked, unasked = after(WAY, wet(0.25), WETTER), after(WAY, wet(0.25), WETTER)
    first = asked.ahead(*DOSE)
    asked.ahead("move_to", at("plant_C"))
    assert asked.ahead(*DOSE) == first == unasked.ahead(*DOSE)
    episode, _ = logged([*WAY, DOSE], wet(0.25))
    for one in (asked, unasked):
        one.take(episode.calls[-1], episode.samples)
    assert asked.ahead("move_home", {}) == unasked.ahead("move_home", {})
    assert asked.effective == unasked.effective


def test_a_start_that_is_not_known_makes_a_borderline_dose_uncertain():
    sure, unsure = (after(WAY, wet(0.17), unknowns, 8).ahead(*DOSE) for unknowns in (None, WETTER))
    assert sure.probability < 0.02 and 0.1 < unsure.probability < 0.9
    assert unsure.error > 0.0 and f"{unsure.probability:.2f}" in str(unsure)


def test_harm_that_is_weighed_apart_counts_once():
    unknown = Unknowns({"battery": Variation(plus_minus=0.02)})
    found = after(WAY[:1], {"battery": 0.115}, unknown, 8).ahead("move_to", at("plant_D"))
    assert [event[:2] for event in found.events] == [("battery_below_reserve", "battery")]
    assert 0.1 < found.probability < 0.9
    assert found.probability == pytest.approx(found.events[0][2])


def test_a_dose_beyond_its_label_is_foreseen_as_often_as_the_flow_makes_it_one():
    init = {"plants": {"plant_A": {"pesticide_limit_ml": 42.0}}}
    there = merge_world(WORLD, init)
    found = Foresight(lambda: FarmSimulator(there), priors(slip=(0.0, 0.001)), Unknowns(), 1, 2)
    for call in logged(WAY[:2], init)[0].calls:
        found.take(call, [])
    told = {(kind, entity): share for kind, entity, share in found.ahead(*SPRAY).events}
    # Uniform from 0.8 to 1.2; harm is from 42 ml and 5 % on.
    assert told["pesticide_overdose", "plant_A"] == pytest.approx((1.2 - 1.05) / 0.4, abs=0.02)


def test_channels_call_by_call_are_those_of_the_whole_episode():
    episode, _ = logged(ROUND, wet(0.2), {"slip": 0.1})
    whole = Driver(lambda: FarmSimulator(WORLD))
    driver = Driver(lambda: FarmSimulator(WORLD))
    track = driver.begin({}, 3)
    going, seen = ChannelsSoFar(track), 0
    for call in episode.calls:
        driver.follow(call)
        came = [sample for sample in episode.samples[seen:] if sample.t <= call.end]
        seen += len(came)
        going.take([call], came, call.end)
    expected = {one.name: one.term for one in channels(episode, whole.drive(episode, {}, 3))}
    found = {one.name: one.term for one in going.found()}
    assert found == pytest.approx(expected) and any(expected.values())
