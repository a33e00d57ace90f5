"""The SO-101's physics: the published model's joints and servos, and a grip that is friction alone."""

import mujoco
import numpy as np
import pytest
from so101_rig import do, needs_so101, place, so101

pytestmark = needs_so101


@pytest.fixture(scope="module")
def physics():
    return so101()[0]._physics


def published():
    from sims.so101_arm import assets

    return mujoco.MjModel.from_xml_path(str(assets.folder() / "so101_new_calib.xml"))


@pytest.mark.slow
def test_joints_and_servos_are_those_of_the_published_model(physics):
    ours, theirs = physics.model, published()
    for name in ("jnt_range", "actuator_gainprm", "actuator_biasprm", "actuator_ctrlrange"):
        assert np.array_equal(getattr(ours, name)[:6], getattr(theirs, name)), name
    for name in ("dof_damping", "dof_frictionloss", "dof_armature"):
        assert np.array_equal(getattr(ours, name)[:6], getattr(theirs, name)), name
    for body in range(1, theirs.nbody):
        name = theirs.body(body).name
        assert ours.body(name).mass[0] == theirs.body(body).mass[0], name
        assert np.allclose(ours.body(name).inertia, theirs.body(body).inertia), name


def test_the_servos_carry_the_arms_weight(physics):
    """Torques at rest against gravity's own, from masses and places; friction may hold the rest."""
    data, model = physics.data, physics.model
    bodies = ("upper_arm", "lower_arm", "wrist", "gripper", "moving_jaw_so101_v1")
    mujoco.mj_forward(model, data)
    for first, joint in enumerate(("shoulder_lift", "elbow_flex")):
        anchor = data.xanchor[model.joint(joint).id][0]
        weight = sum(
            model.body(name).mass[0] * 9.81 * (data.xipos[model.body(name).id][0] - anchor)
            for name in bodies[first:]
        )
        assert weight > 0.05
        assert abs(-physics.torques()[joint] - weight) < model.dof_frictionloss[1] + 0.001
    assert weight > 0.3, "the elbow carries forearm, wrist and gripper"


def test_what_the_jaws_hold_stays_by_friction_and_falls_without_it():
    simulator, _ = so101()
    assert do(simulator, "pick", object_id="cube_blue").value == {
        "gripper": "closed", "holding": True, "object_id": "cube_blue",
    }  # fmt: skip
    physics, monitor = simulator._physics, simulator._monitor
    assert physics.model.neq == 0, "no weld"
    torque = physics.torques()["gripper"]
    assert monitor.squeeze["cube_blue"] == pytest.approx(-torque / physics.kinematics.lever, rel=0.15)
    before = physics.beside_tip("cube_blue")
    for _ in range(1000):
        physics.step()
    physics.sync()
    assert np.abs(physics.beside_tip("cube_blue") - before).max() < 1e-5, "2 s"
    height = physics.objects.position("cube_blue")[2]
    # The next simulator may get this model, with all that a simulator never changes.
    friction = physics.model.geom_friction[physics.bench.geom["cube_blue"]]
    before = friction.copy()
    friction[:] = 0.01, 0.0, 0.0
    try:
        for _ in range(500):
            physics.step()
    finally:
        friction[:] = before
    assert physics.objects.position("cube_blue")[2] < height - 0.03


def test_a_weak_gripper_loses_what_it_holds():
    faults = {"schedule": [{"kind": "weak_gripper", "at": 8.0, "strength": 1.0}]}
    # A lighter one would stay: the friction of the gripper's gear holds 20 g.
    simulator, _ = so101({"faults": faults, "objects": {"cube_blue": {"mass": 0.2}}})
    do(simulator, "pick", object_id="cube_blue")
    assert simulator.state_dict()["holding"] == "cube_blue"
    place(simulator, "bin_left")
    assert ("drop", "cube_blue") in {(event.kind, event.entity) for event in simulator.events}


def test_a_joint_stops_at_its_limit(physics):
    high = physics.model.jnt_range[0, 1]
    data = mujoco.MjData(physics.model)
    data.qpos[:] = physics.data.qpos
    data.qpos[:6] = [0.0, -1.5, 0.7, 0.8, 0.0, 0.5]
    data.ctrl[:6] = data.qpos[:6]
    physics.model.actuator_ctrllimited[0] = False
    try:
        data.ctrl[0] = 3.0
        mujoco.mj_step(physics.model, data, 3000)
    finally:
        physics.model.actuator_ctrllimited[0] = True
    assert data.qpos[0] == pytest.approx(high, abs=0.03)
