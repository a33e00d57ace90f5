"""Faults that cannot be are refused, with what to do."""

import pytest
from pydantic import ValidationError
from tank_rig import tank, wait

from configs.errors import ConfigError
from configs.worlds_loader import load_world, merged_state
from devices.faults import Fault, FaultRate


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ({"kind": "stuck_sensor", "at": 1.0}, "needs the sensor's name"),
        ({"kind": "out_of_order", "at": 1.0}, "needs the tool's name"),
        ({"kind": "reset", "at": 1.0, "entity": "moisture"}, "takes no entity"),
        ({"kind": "reset", "at": -1.0}, "at"),
    ],
)
def test_a_fault_that_cannot_be_is_refused(fault, says):
    with pytest.raises(ValidationError, match=says):
        Fault.model_validate(fault)


def test_a_rate_that_cannot_be_is_refused():
    with pytest.raises(ValidationError, match="least, then the greatest"):
        FaultRate.model_validate({"kind": "reset", "per_hour": 1.0, "strength": [0.5, 0.2]})
    with pytest.raises(ValidationError, match="needs the sensor's name"):
        FaultRate.model_validate({"kind": "stuck_sensor", "per_hour": 1.0})


def test_a_sensor_that_there_is_not_cannot_stick():
    simulator, _ = tank({"s": {"kind": "switch"}})
    wait(simulator, 1.0)
    stuck = {"schedule": [{"kind": "stuck_sensor", "at": 1.0, "entity": "moistur"}]}
    answer = simulator.init({"faults": stuck}, 0)
    assert (answer.status, answer.code) == ("invalid", "bad_state")
    assert "moistur" in answer.message and "\n" not in answer.message
    assert simulator.clock.now == 1.0, "the running episode is left alone"


@pytest.mark.parametrize(
    ("world", "kind"),
    [
        ("farm_rover", "weak_gripper"),
        ("robotic_arm", "stuck_valve"),
        ("robotic_arm", "wheel_slip"),
        ("farm_rover", "fire"),
    ],
)
def test_a_fault_of_what_a_device_lacks_is_refused(world, kind):
    for part, faults in (
        ("schedule", {"kind": kind, "at": 1.0}),
        ("random", {"kind": kind, "per_hour": 1.0}),
    ):
        with pytest.raises(
            ConfigError, match=f"faults: .*{part}.0.kind: a {world} has no {kind}; it has link_delay,"
        ):
            merged_state(load_world(world), {"faults": {part: [faults]}})


@pytest.mark.parametrize(
    ("world", "kind"),
    [("farm_rover", "wheel_slip"), ("robotic_arm", "weak_gripper"), ("farm_rover", "link_loss")],
)
def test_a_share_is_at_most_one(world, kind):
    merged_state(load_world(world), {"faults": {"schedule": [{"kind": kind, "at": 1.0, "strength": 1.0}]}})
    with pytest.raises(ConfigError, match=f"schedule.0.strength: the strength of {kind} is a share"):
        merged_state(
            load_world(world), {"faults": {"schedule": [{"kind": kind, "at": 1.0, "strength": 1.5}]}}
        )
    with pytest.raises(ConfigError, match=f"random.0.strength: the strength of {kind} is a share"):
        rate = {"kind": kind, "per_hour": 1.0, "strength": [0.5, 1.5]}
        merged_state(load_world(world), {"faults": {"random": [rate]}})


def test_a_sensor_that_there_is_not_is_named_before_anything_runs(tmp_path):
    stuck = {"schedule": [{"kind": "stuck_sensor", "at": 1.0, "entity": "moisture"}]}
    with pytest.raises(ConfigError, match=r"no sensor 'moisture'; there are moisture\.plant_A"):
        merged_state(load_world("farm_rover"), {"faults": stuck})
    path = tmp_path / "field.yaml"
    path.write_text("base: farm_rover\nfaults: {schedule: [{kind: stuck_sensor, at: 1, entity: moisture}]}\n")
    with pytest.raises(ConfigError, match=r"field\.yaml:2: faults: there is no sensor 'moisture'"):
        load_world(str(path))


@pytest.mark.parametrize(
    ("world", "init", "says"),
    [
        ("farm_rover", {"slip": 5.0}, "hidden.slip: .*less than or equal to 1"),
        ("farm_rover", {"dropout": 1.5}, "hidden.dropout: .*less than or equal to 1"),
        ("farm_rover", {"infiltration": 0.0}, "hidden.infiltration: .*greater than 0"),
        ("farm_rover", {"drainage": 0.0}, "hidden.drainage: .*greater than 0"),
        ("robotic_arm", {"mass": 0.0}, "mass: times hidden.mass it must be at least 0.0001 kg"),
    ],
)
def test_a_hidden_parameter_that_no_physics_has_is_refused(world, init, says):
    with pytest.raises(ConfigError, match=says):
        merged_state(load_world(world), {"hidden": init})
