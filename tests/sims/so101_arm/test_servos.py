"""The servos' overload protection: what it takes, what it does, and how it ends."""

from threading import Event

import pytest
from so101_rig import do, needs_so101, so101, to, world

from devices.so101_arm.world import Servos

pytestmark = needs_so101

FACTORY = Servos()
FAR = to(0.37, 0.03, 0.1, pitch=0.3)
HELD = [("pick", {"object_id": "cube_blue"}), FAR]


def held(seconds, mass=0.35, **servos):
    """A load held stretched out for a time: the simulator, and the torque of its shoulder."""
    init = {"objects": {"cube_blue": {"mass": mass}}, "arm": {"servos": servos}}
    simulator, _ = so101(init)
    for tool, arguments in [*HELD, ("wait", {"seconds": seconds})]:
        assert do(simulator, tool, **arguments).status == "ok"
    return simulator, abs(simulator.physics_state[1].actuator("shoulder_lift").force[0])


def kinds(simulator):
    return [(event.kind, event.entity) for event in simulator.events]


def test_the_registers_are_those_of_the_factory():
    assert (FACTORY.stall_nm, Servos(supply="12 V").stall_nm) == (1.91, 2.94)
    assert FACTORY.overload_nm == pytest.approx(0.8 * 1.91)
    assert FACTORY.protective_nm == pytest.approx(0.2 * 1.91)
    assert world().arm.servos == FACTORY


def test_a_load_held_for_too_long_makes_its_servo_give_way_and_sinks():
    before, torque = held(0.1)
    assert torque > FACTORY.overload_nm and ("servo_overload", "shoulder_lift") not in kinds(before)
    high = before.state_dict()["objects"]["cube_blue"]["z"]
    after, torque = held(4.0)
    event = next(event for event in after.events if event.kind == "servo_overload")
    assert (event.entity, event.call) == ("shoulder_lift", 1)
    assert event.t_end - event.t_start == pytest.approx(FACTORY.protection_time)
    assert 0.0 < event.severity < FACTORY.stall_nm - FACTORY.overload_nm
    assert torque <= FACTORY.protective_nm + 1e-9
    assert after.state_dict()["objects"]["cube_blue"]["z"] < high - 0.05


@pytest.mark.parametrize(
    "servos",
    [{"supply": "12 V"}, {"overload_torque": 0.9}, {"protection_time": 2.54}],
    ids=["a stronger servo", "a higher limit", "a longer time"],
)
def test_it_stays_up_where_the_load_or_the_time_is_below_the_limit(servos):
    seconds = 2.3 if "protection_time" in servos else 4.0
    usual, _ = held(seconds)
    assert ("servo_overload", "shoulder_lift") in kinds(usual)
    other, _ = held(seconds, **servos)
    assert kinds(other) == []


def test_a_servo_that_gave_way_stays_so_until_it_is_switched_off():
    simulator, _ = held(4.0)
    again = do(simulator, "home")
    assert (again.status, again.code) == ("fault", "protective_stop")
    assert "gave more than 1.53 N m" in again.message and "unlock_safety" in again.message
    assert do(simulator, "home").status == "rejected", "the safety is locked"
    assert do(simulator, "unlock_safety").status == "ok"
    assert do(simulator, "home").status == "ok"


def test_its_remedy_keeps_the_servo_below_its_overload_torque():
    usual, _ = held(4.0)
    event = next(event for event in usual.events if event.kind == "servo_overload")
    simulator, _ = so101({"objects": {"cube_blue": {"mass": 0.35}}})
    do(simulator, *HELD[0][:1], **HELD[0][1])
    simulator.execute(*FAR, Event(), remedy="limit_torque", event=event, forced=True, duration=3.0)
    do(simulator, "wait", seconds=4.0)
    assert ("servo_overload", "shoulder_lift") not in kinds(simulator)


def test_an_arm_that_presses_on_gives_way_after_the_record_too():
    simulator, _ = so101()
    for tool, arguments in (to(0.28, 0.0, 0.03), to(0.28, 0.0, 0.0)):
        do(simulator, tool, **arguments)
    simulator.finish()
    assert ("servo_overload", "shoulder_lift") not in kinds(simulator)
    simulator.run_out()
    assert ("servo_overload", "shoulder_lift") in kinds(simulator)
