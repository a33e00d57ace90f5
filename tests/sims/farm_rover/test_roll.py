"""A twin's drives skip what does not happen in most of their steps: to the last bit what all steps give."""

import pytest
from farm_rig import WORLD, at
from twin_rig import logged

from core_eval.harm.twin.member import Driver, Seldom
from sims.clock import Clock
from sims.farm_rover.drive_control import DriveControl
from sims.farm_rover.roll import Roll
from sims.farm_rover.simulator import FarmSimulator
from sims.overrides import merge_world

INTO_BED = ("move_to", {"x": 10.0, "y": 12.4})
UNLOCK = ("unlock_safety_mode", {})
OUT = [UNLOCK, ("move_to", at("plant_A")), ("move_to", at("water_station")), ("move_home", {})]
CASES = {
    "past beds": (OUT, {}),
    "over a bed, and out of it": ([UNLOCK, INTO_BED, OUT[1]], {}),
    "by a person": (
        OUT,
        {"person": {"path": [{"t": 5.0, "x": 2.0, "y": 3.0}, {"t": 31.0, "x": 5.0, "y": 3.5}]}},
    ),
    "with a low battery": (OUT, {"battery": 0.22}),
    "with a wheel that slips for a while": (
        OUT,
        {"faults": {"schedule": [{"kind": "wheel_slip", "at": 7.03, "seconds": 12.0, "strength": 0.3}]}},
    ),
    "with a sensor of the person": (
        OUT,
        {
            "person": {"path": [{"t": 0.0, "x": 2.0, "y": 3.0}, {"t": 300.0, "x": 5.0, "y": 3.5}]},
            "sensors": {"person_near": {"kind": "switch"}},
        },
    ),
}


def told(script, init, seldom=None, record_until=0.0):
    """What a member tells along an episode, and of each call before it is made."""
    driver = Driver(lambda: FarmSimulator(merge_world(WORLD, init)))
    track = driver.begin({"slip": 0.06, "draw": 1.1}, 3, apart=True, record_until=record_until)
    driver.seldom, ahead = seldom, []
    for call in logged(script, init, {"slip": 0.04})[0].calls:
        ahead.append(driver.ahead(call.call.tool, call.call.arguments))
        driver.follow(call)
    simulator = driver.simulator
    return repr(
        (
            ahead,
            track.samples,
            track.sensed,
            track.given,
            track.answers,
            simulator.state_dict(),
            simulator.events,
        )
    )


def take_all_steps(monkeypatch):
    """Let every drive go through each of its steps."""
    monkeypatch.setattr(Roll, "alone_until", lambda roll, _end: roll._farm.clock.ticks)
    monkeypatch.setattr(
        DriveControl,
        "_roll_by_meter",
        lambda control, roll, seconds, grid: control._execution.run(
            roll.move, seconds, Clock.to_seconds(grid), roll.track
        ),
    )


@pytest.mark.parametrize("case", CASES)
def test_steps_that_are_skipped_change_nothing(case, monkeypatch):
    coasted, coast = [], Roll.coast
    monkeypatch.setattr(Roll, "coast", lambda *given: coasted.append(given) or coast(*given))
    fast = told(*CASES[case])
    assert bool(coasted) == (case != "with a sensor of the person")
    take_all_steps(monkeypatch)
    same = fast == told(*CASES[case])
    assert same


def test_a_run_that_is_watched_is_the_same_too(monkeypatch):
    fast = told(OUT[:2], {}, record_until=60.0)
    take_all_steps(monkeypatch)
    same = fast == told(OUT[:2], {}, record_until=60.0)
    assert same


@pytest.mark.parametrize("sensors", [{}, {"imu": {"kind": "quantised", "period": 0.2, "resolution": 0.01}}])
def test_a_run_that_reads_its_sensors_seldom_is_the_same_too(sensors, monkeypatch):
    init, seldom = {"sensors": sensors}, Seldom(20, 4, 0.5, 60.0, 5.0, 600.0)
    fast = told(OUT, init, seldom)
    take_all_steps(monkeypatch)
    same = fast == told(OUT, init, seldom)
    assert same


@pytest.mark.parametrize(
    ("call", "kind", "share"),
    [
        (INTO_BED, "bed_crossing", 0.5),
        (("move_to", {"x": 16.5, "y": 11.5}), "collision", 0.5),
        (("move_to", {"x": 17.2, "y": 12.0}), "collision", 1.5),  # it grazes the well
    ],
)
@pytest.mark.parametrize("slip", [0.0, 0.06])
def test_looking_ahead_tells_the_harm_of_a_drive_in_few_steps(call, kind, share, slip, monkeypatch):
    driver, steps, move = Driver(lambda: FarmSimulator(WORLD)), [], Roll.move
    driver.begin({"slip": slip}, 3, apart=True)
    monkeypatch.setattr(Roll, "move", lambda roll, t, dt: steps.append(t) or move(roll, t, dt))
    unlocking, driving = logged([UNLOCK, call], {}, {"slip": slip})[0].calls
    driver.follow(unlocking)
    steps.clear()
    (told,) = driver.ahead(*call).events
    ahead = len(steps)
    driver.follow(driving)
    (true,) = driver.simulator.events
    assert (told.kind, told.entity) == (kind, true.entity)
    for name in ("t_start", "t_end", "severity", "exposure"):
        assert getattr(told, name) == pytest.approx(getattr(true, name), rel=2e-3), name
    assert 0 < ahead < share * (len(steps) - ahead)
